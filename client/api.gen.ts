// Made by tools/gen_client.ts; do not edit.
export type paths = Record<string, never>;

export type webhooks = Record<string, never>;

export interface components {
  schemas: {
    OpenEvent: {
      epoch: number;
      /** @enum {string} */
      resume: "start" | "full" | "partial" | "reset";
      next_start_step: number;
      missing: {
        from_step: number;
        to_step: number;
      } | null;
    };
    OutputEvent: {
      seq: number;
      start_step: number;
      steps: number;
      shape: number[];
      /** @enum {string} */
      encoding: "json" | "base64" | "bits" | "events";
      /** @description [steps][…output_shape], as `encoding` says */
      data?: unknown;
      probes?: {
        [key: string]: unknown;
      };
      /** @description After the last of these steps, over the whole session */
      prediction?: {
        class: number;
        label: string | null;
        score: number | null;
      };
    };
    ErrorEvent: {
      seq: number;
      /** @enum {string} */
      code: "step_failed" | "after_failed_chunk";
      at_step: number;
    };
    RolledBackEvent: {
      epoch: number;
      to_step: number;
      next_chunk_seq: number;
    };
    NoticeEvent: {
      /** @enum {string} */
      code: "expiring";
      reason: string;
      /** Format: date-time */
      expires_at: string;
    } | {
      /** @enum {string} */
      code: "numerics_changed";
      was: string;
      numerics: string;
    };
    EndEvent: {
      reason: string;
    };
    Problem: {
      type: string;
      title: string;
      status: number;
      detail: string;
      code: string;
      action: string;
      request_id: string;
      [key: string]: unknown;
    };
    ModelList: {
      models: components["schemas"]["Model"][];
    };
    Model: {
      id: string;
      sample_shape: number[];
      output_shape: number[];
      frame: number;
      slots: number;
      dt: number;
      /** @enum {string} */
      dt_source: "flag" | "metadata" | "dialect" | "inferred" | "default";
      /** @enum {string} */
      discretization: "euler" | "exact";
      options: {
        [key: string]: string | boolean;
      };
      layers: {
          name: string;
          type: string;
          shape: number[];
          kind: string;
          state: string[];
        }[];
      state_bytes: number;
      digest: string;
      numerics: string;
      executor: {
        kind: string;
        device: string;
        software: boolean;
      };
      notes: ({
          /** @enum {string} */
          level: "info" | "warning";
          code: string;
          node?: string;
          text: string;
        })[];
    };
    Graph: {
      id: string;
      layers: {
          name: string;
          type: string;
          shape: number[];
          kind: string;
          from: string[];
          /** @description Those of `from` seen one step late */
          late: string[];
          parameters: number;
          state_bytes: number;
          details: string;
        }[];
      /** @description The layer whose values are the outputs */
      output: string;
      /** @description What a session may record */
      record: {
          name: string;
          shape: number[];
        }[];
      readout: boolean;
      labels: string[] | null;
    };
    Session: {
      id: string;
      model: string;
      /** @enum {string} */
      state: "active" | "parked";
      slot: number | null;
      frame: number;
      sample_shape: number[];
      output_shape: number[];
      dt: number;
      steps_done: number;
      frames_waiting: number;
      next_chunk_seq: number;
      seq_window: number;
      /** @description Time steps that the queue has room for */
      credit: number;
      epoch: number;
      epochs: {
          epoch: number;
          from_step: number;
        }[];
      durable_seq: number | null;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      last_activity_at: string;
      ttl_s: number;
      record: string[];
      /** @enum {string} */
      outputs: "ring" | "hold";
      /**
       * @description There when outputs carry the running prediction
       * @enum {boolean}
       */
      readout?: true;
      /** @description 0 where none is promised */
      frame_period_ms: number;
      frames_late: number;
    };
    CreateSession: {
      /** @description May be left out when one is served */
      model?: string;
      /** @description Idle life time in seconds, 0 for never */
      ttl_s?: number;
      /** @description How long to wait for a slot */
      wait_s?: number;
      /**
       * @description Internal values to return with the outputs, as `ganglion inspect` names them
       * @example [
       *   "lif.v"
       * ]
       */
      record?: string[];
      /** @enum {string} */
      outputs?: "ring" | "hold";
      /** @description Outputs carry the running prediction; the model must be a run with a readout */
      readout?: boolean;
      /** @description Time between two frames of a real-time stream; later outputs count as late */
      frame_period_ms?: number;
      /** @description Begins with this state: a snapshot as GET …/state gives it, in base64 */
      state?: string;
    };
    SessionList: {
      sessions: components["schemas"]["Session"][];
    };
    ChunkAnswer: components["schemas"]["ChunkReceipt"] & ({
      shape: number[];
      /** @description [steps][…output_shape], null for NaN */
      data: unknown[];
      probes?: {
        [key: string]: unknown[];
      };
      /** @description After the last of these steps, over the whole session */
      prediction?: {
        class: number;
        label: string | null;
        score: number | null;
      };
    });
    ChunkReceipt: {
      seq: number;
      steps: number;
      start_step: number;
      end_step: number;
      epoch: number;
      next_chunk_seq: number;
      credit: number;
      durable_seq: number | null;
    };
    Chunk: {
      data: unknown[];
      reset?: boolean;
    } | {
      steps: number;
      events: number[][];
      reset?: boolean;
    };
    Ticket: {
      ticket: string;
      /** Format: date-time */
      expires_at: string;
    };
    ServerStats: {
      models: ({
          model: string;
          slots_total: number;
          slots_free: number;
          sessions: number;
          sessions_waiting: number;
          frames_waiting: number;
          readers: number;
          slots: ({
              slot: number;
              /** @enum {string} */
              state: "free" | "held";
              /** @description null when another key owns it */
              session?: string | null;
              steps_done?: number;
              frames_waiting?: number;
              frames_late?: number;
              readers?: number;
              /** Format: date-time */
              last_activity_at?: string;
            })[];
        })[];
    };
  };
  responses: never;
  parameters: {
  };
  requestBodies: never;
  headers: never;
  pathItems: never;
}

export type $defs = Record<string, never>;

export type external = Record<string, never>;

export type operations = Record<string, never>;
