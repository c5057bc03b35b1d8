/** Chunks: take one, wait for its outputs if asked, cancel one. */
import { GanglionError } from "../../base/errors.ts";
import { writeNpy } from "../../base/npy.ts";
import type { Chunk, ChunkOutputs, StreamSession } from "../../scheduler/mod.ts";
import { bestType } from "../accept.ts";
import { type Answer, EMPTY_ANSWER, JSON_TYPE, jsonAnswer } from "../answer.ts";
import { mediaTypeOf, readBody } from "../body.ts";
import { CHUNK_TYPES, type ChunkType, decodeChunk } from "../chunk_codec.ts";
import { type AppDeps, type Context, flagOf } from "../context.ts";
import { describeChunk } from "../describe.ts";
import { chunkDigest } from "../digest.ts";
import { bytesOf, encodeProbes, encodeValues } from "../encode_outputs.ts";
import { predictionText } from "../output_events.ts";

const ANSWER_TYPES = [
  "application/json",
  "application/octet-stream",
  "application/x-npy",
] as const;
type AnswerType = typeof ANSWER_TYPES[number];

type Deps = Pick<AppDeps, "service" | "limits" | "clock">;

/** A chunk as it was sent. */
interface Posted {
  readonly type: ChunkType;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly seq: number | undefined;
  readonly epoch: number | undefined;
  readonly wait: boolean;
}

export function chunkRoutes({ service, limits, clock }: Deps) {
  const find = (c: Context) => service.session(c.req.param("session")!, c.owner);
  const bodyLimits = {
    bytesMax: limits.bodyBytesMax,
    hint: "send fewer steps in each chunk",
    seconds: limits.bodySeconds,
    clock,
  };

  /** Decodes and queues a chunk. Refuses before anything is queued. */
  function take(session: StreamSession, { type, body, seq, epoch, wait }: Posted): Chunk {
    const { values, steps, reset } = decodeChunk(type, body, {
      sampleShape: service.model(session.options.model).plan.sampleShape,
      assertSteps: (count) => session.queue.assertCanFit(count),
    });
    if (wait) assertAnswerFits(session, steps);
    const digest = chunkDigest(type, body);
    return service.submit(session, { values, steps, reset, seq, digest, epoch }).chunk;
  }

  function assertAnswerFits({ options }: StreamSession, steps: number): void {
    const bytes = steps * options.outputStepBytes;
    if (bytes <= limits.answerBytesMax) return;
    throw new GanglionError(
      "answer_too_large",
      `The outputs take ${bytes} bytes, one answer has at most ${limits.answerBytesMax}`,
      { bytes, bytes_max: limits.answerBytesMax },
    );
  }

  function answer(
    type: AnswerType,
    session: StreamSession,
    chunk: Chunk,
    outputs: ChunkOutputs,
  ): Answer {
    const { plan, probes } = service.model(session.options.model);
    const shape = [chunk.steps, ...plan.outputShape];
    if (type === JSON_TYPE) {
      const head = JSON.stringify({ ...describeChunk(session, chunk), shape });
      const shapeOf = (name: string) => [chunk.steps, ...probes.get(name)!.shape];
      const recorded = session.options.record.length === 0
        ? ""
        : `,"probes":${encodeProbes("json", outputs.probes, shapeOf)}`;
      const data = encodeValues("json", outputs.data, shape);
      const text = `${head.slice(0, -1)},"data":${data}${recorded}${predictionText(outputs)}}`;
      return { status: 200, headers: { "content-type": type }, body: text };
    }
    const bytes = type === "application/x-npy"
      ? writeNpy(outputs.data, shape) as Uint8Array<ArrayBuffer>
      : bytesOf(outputs.data);
    return {
      status: 200,
      headers: {
        "content-type": type,
        "chunk-seq": String(chunk.seq),
        "start-step": String(chunk.startStep),
        "steps": String(chunk.steps),
        "session-epoch": String(chunk.epoch),
      },
      body: bytes,
    };
  }

  return {
    async post(c: Context): Promise<Answer> {
      const answerType = bestType(c.req.header("accept"), ANSWER_TYPES);
      find(c); // an ended session answers before its body is read
      if (answerType === null) {
        throw new GanglionError(
          "not_acceptable",
          `The answer can be ${ANSWER_TYPES.join(", ")}`,
          { types: ANSWER_TYPES },
        );
      }
      const wait = flagOf(c, "wait");
      const type = mediaTypeOf(c, CHUNK_TYPES) as ChunkType;
      const seq = countOf(c, "Chunk-Seq");
      const epoch = countOf(c, "Session-Epoch");
      const body = await readBody(c, bodyLimits);
      const session = find(c);
      const chunk = take(session, { type, body, seq, epoch, wait });
      if (wait) {
        c.connection.keepOpen?.();
        const waitMs = limits.waitSecondsMax * 1000;
        const outputs = await chunk.wait(clock, waitMs, () => c.req.raw.signal);
        if (outputs !== null) return answer(answerType, session, chunk, outputs);
      }
      return jsonAnswer(describeChunk(session, chunk), 202);
    },

    async cancel(c: Context) {
      const session = find(c);
      const seq = c.req.param("seq")!;
      if (!/^\d{1,15}$/.test(seq)) {
        throw new GanglionError(
          "chunk_unknown",
          `Chunks have whole numbers, not "${seq.slice(0, 50)}"`,
          { next_chunk_seq: session.queue.nextSeq },
        );
      }
      session.cancel(Number(seq));
      // It must not run after a crash either.
      await service.keep([session]);
      return EMPTY_ANSWER;
    },
  };
}

/** A header that is a whole number. */
function countOf(c: Context, header: string): number | undefined {
  const value = c.req.header(header);
  if (value === undefined) return undefined;
  if (/^\d{1,15}$/.test(value)) return Number(value);
  throw new GanglionError("bad_header", `${header} must be a whole number from 0`, { header });
}
