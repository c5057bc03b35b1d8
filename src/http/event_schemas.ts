/** The data of the events that a session's readers get, for the OpenAPI document. */
import { z } from "@hono/zod-openapi";
import { ENCODINGS } from "./encode_outputs.ts";
import { ChunkAnswer } from "./schemas.ts";

const count = z.number().int().min(0);

export const EVENT_SCHEMAS = {
  OpenEvent: z.object({
    epoch: count,
    resume: z.enum(["start", "full", "partial", "reset"]),
    next_start_step: count,
    missing: z.object({ from_step: count, to_step: count }).nullable(),
  }),
  OutputEvent: z.object({
    seq: count,
    start_step: count,
    steps: count,
    shape: z.array(count),
    encoding: z.enum(ENCODINGS),
    data: z.unknown().openapi({ description: "[steps][…output_shape], as `encoding` says" }),
    probes: z.record(z.string(), z.unknown()).optional(),
    prediction: ChunkAnswer.shape.prediction,
  }),
  ErrorEvent: z.object({
    seq: count,
    code: z.enum(["step_failed", "after_failed_chunk"]),
    at_step: count,
  }),
  RolledBackEvent: z.object({ epoch: count, to_step: count, next_chunk_seq: count }),
  NoticeEvent: z.union([
    z.object({ code: z.literal("expiring"), reason: z.string(), expires_at: z.iso.datetime() }),
    z.object({ code: z.literal("numerics_changed"), was: z.string(), numerics: z.string() }),
  ]),
  EndEvent: z.object({ reason: z.string() }),
};
