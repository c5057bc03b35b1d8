/** What the API answers, as far as the pages read it (docs/http_api.md). */

export interface Model {
  readonly id: string;
  readonly sample_shape: readonly number[];
  readonly output_shape: readonly number[];
  readonly frame: number;
  readonly slots: number;
  readonly dt: number;
  readonly dt_source: "flag" | "metadata" | "dialect" | "inferred" | "default";
  readonly discretization: string;
  readonly state_bytes: number;
  readonly digest: string;
  readonly numerics: string;
  readonly executor: {
    readonly kind: string;
    readonly device: string;
    readonly software: boolean;
  };
  readonly notes: readonly {
    readonly level: string;
    readonly node?: string;
    readonly text: string;
  }[];
}

export interface Layer {
  readonly name: string;
  readonly type: string;
  readonly shape: readonly number[];
  readonly kind: "spike" | "count" | "real" | "input";
  readonly from: readonly string[];
  readonly late: readonly string[];
  readonly parameters: number;
  readonly state_bytes: number;
  readonly details: string;
}

export interface Graph {
  readonly id: string;
  readonly layers: readonly Layer[];
  readonly output: string;
  readonly record: readonly { readonly name: string; readonly shape: readonly number[] }[];
  readonly readout: boolean;
  readonly labels: readonly string[] | null;
}

export interface Session {
  readonly id: string;
  readonly model: string;
  readonly state: "active" | "parked";
  readonly slot: number | null;
  readonly frame: number;
  readonly steps_done: number;
  readonly next_chunk_seq: number;
  readonly epoch: number;
  readonly record: readonly string[];
}

export interface Slot {
  readonly slot: number;
  readonly state: "free" | "held";
  readonly session?: string | null;
  readonly steps_done?: number;
  readonly frames_waiting?: number;
  readonly frames_late?: number;
}

export interface SlotTable {
  readonly model: string;
  readonly slots_total: number;
  readonly slots_free: number;
  readonly sessions: number;
  readonly sessions_waiting: number;
  readonly frames_waiting: number;
  readonly slots: readonly Slot[];
}

export interface Prediction {
  readonly class: number;
  readonly label: string | null;
  readonly score: number | null;
}
