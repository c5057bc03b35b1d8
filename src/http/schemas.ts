/** Bodies and answers as zod schemas: what is checked, and what the OpenAPI document says. */
import { z } from "@hono/zod-openapi";

const count = z.number().int().min(0);
const shape = z.array(count);

export const CreateSession = z.strictObject({
  model: z.string().max(200).optional().openapi({
    description: "May be left out when one is served",
  }),
  ttl_s: count.optional().openapi({ description: "Idle life time in seconds, 0 for never" }),
  wait_s: z.number().min(0).optional().openapi({ description: "How long to wait for a slot" }),
  record: z.array(z.string().max(1000)).max(1000).optional().openapi({
    description: "Internal values to return with the outputs, as `ganglion inspect` names them",
    example: ["lif.v"],
  }),
  outputs: z.enum(["ring", "hold"]).optional(),
  readout: z.boolean().optional().openapi({
    description: "Outputs carry the running prediction; the model must be a run with a readout",
  }),
  frame_period_ms: z.number().min(0).optional().openapi({
    description: "Time between two frames of a real-time stream; later outputs count as late",
  }),
  state: z.string().optional().openapi({
    description: "Begins with this state: a snapshot as GET …/state gives it, in base64",
  }),
}).openapi("CreateSession");

export const SessionView = z.object({
  id: z.string(),
  model: z.string(),
  state: z.enum(["active", "parked"]),
  slot: count.nullable(),
  frame: count,
  sample_shape: shape,
  output_shape: shape,
  dt: z.number(),
  steps_done: count,
  frames_waiting: count,
  next_chunk_seq: count,
  seq_window: count,
  credit: count.openapi({ description: "Time steps that the queue has room for" }),
  epoch: count,
  epochs: z.array(z.object({ epoch: count, from_step: count })),
  durable_seq: count.nullable(),
  created_at: z.iso.datetime(),
  last_activity_at: z.iso.datetime(),
  ttl_s: count,
  record: z.array(z.string()),
  outputs: z.enum(["ring", "hold"]),
  readout: z.literal(true).optional().openapi({
    description: "There when outputs carry the running prediction",
  }),
  frame_period_ms: z.number().openapi({ description: "0 where none is promised" }),
  frames_late: count,
}).openapi("Session");

export const SessionList = z.object({ sessions: z.array(SessionView) }).openapi("SessionList");

export const TicketView = z.object({ ticket: z.string(), expires_at: z.iso.datetime() })
  .openapi("Ticket");

export const ServerStats = z.object({
  models: z.array(z.object({
    model: z.string(),
    slots_total: count,
    slots_free: count,
    sessions: count,
    sessions_waiting: count,
    frames_waiting: count,
    readers: count,
    slots: z.array(z.object({
      slot: count,
      state: z.enum(["free", "held"]),
      session: z.string().nullable().optional().openapi({
        description: "null when another key owns it",
      }),
      steps_done: count.optional(),
      frames_waiting: count.optional(),
      frames_late: count.optional(),
      readers: count.optional(),
      last_activity_at: z.iso.datetime().optional(),
    })),
  })),
}).openapi("ServerStats");

export const ModelView = z.object({
  id: z.string(),
  sample_shape: shape,
  output_shape: shape,
  frame: count,
  slots: count,
  dt: z.number(),
  dt_source: z.enum(["flag", "metadata", "dialect", "inferred", "default"]),
  discretization: z.enum(["euler", "exact"]),
  options: z.record(z.string(), z.union([z.string(), z.boolean()])),
  layers: z.array(z.object({
    name: z.string(),
    type: z.string(),
    shape,
    kind: z.string(),
    state: z.array(z.string()),
  })),
  state_bytes: count,
  digest: z.string(),
  numerics: z.string(),
  executor: z.object({ kind: z.string(), device: z.string(), software: z.boolean() }),
  notes: z.array(z.object({
    level: z.enum(["info", "warning"]),
    code: z.string(),
    node: z.string().optional(),
    text: z.string(),
  })),
}).openapi("Model");

export const GraphView = z.object({
  id: z.string(),
  layers: z.array(z.object({
    name: z.string(),
    type: z.string(),
    shape,
    kind: z.string(),
    from: z.array(z.string()),
    late: z.array(z.string()).openapi({ description: "Those of `from` seen one step late" }),
    parameters: count,
    state_bytes: count,
    details: z.string(),
  })),
  output: z.string().openapi({ description: "The layer whose values are the outputs" }),
  record: z.array(z.object({ name: z.string(), shape })).openapi({
    description: "What a session may record",
  }),
  readout: z.boolean(),
  labels: z.array(z.string()).nullable(),
}).openapi("Graph");

export const ModelList = z.object({ models: z.array(ModelView) }).openapi("ModelList");

export const ChunkReceipt = z.object({
  seq: count,
  steps: count,
  start_step: count,
  end_step: count,
  epoch: count,
  next_chunk_seq: count,
  credit: count,
  durable_seq: count.nullable(),
}).openapi("ChunkReceipt");

export const ChunkAnswer = ChunkReceipt.extend({
  shape,
  data: z.array(z.unknown()).openapi({ description: "[steps][…output_shape], null for NaN" }),
  probes: z.record(z.string(), z.array(z.unknown())).optional(),
  prediction: z.object({ class: count, label: z.string().nullable(), score: z.number().nullable() })
    .optional().openapi({ description: "After the last of these steps, over the whole session" }),
}).openapi("ChunkAnswer");

export const ChunkBody = z.union([
  z.strictObject({ data: z.array(z.unknown()), reset: z.boolean().optional() }),
  z.strictObject({
    steps: count,
    events: z.array(z.array(z.number()).min(2).max(3)),
    reset: z.boolean().optional(),
  }),
]).openapi("Chunk");

export const ProblemView = z.object({
  type: z.string(),
  title: z.string(),
  status: count,
  detail: z.string(),
  code: z.string(),
  action: z.string(),
  request_id: z.string(),
}).loose().openapi("Problem");
