/** Sessions: open, list, describe, reset, close. */
import { GanglionError } from "../../base/errors.ts";
import { decodeSnapshot, type Snapshot, snapshotBytesMax } from "../../checkpoint/mod.ts";
import type { ModelHost } from "../../scheduler/mod.ts";
import { EMPTY_ANSWER, jsonAnswer } from "../answer.ts";
import { readJson, readNothing } from "../body.ts";
import { type AppDeps, type Context, flagOf } from "../context.ts";
import { describeSession } from "../describe.ts";
import { CreateSession } from "../schemas.ts";

type Deps = Pick<AppDeps, "service" | "limits" | "clock">;

export function sessionRoutes({ service, limits, clock }: Deps) {
  const bodyLimits = { bytesMax: limits.controlBytesMax, seconds: limits.bodySeconds, clock };
  const stateBytesMax = Math.max(0, ...service.models.map(({ plan }) => snapshotBytesMax(plan)));
  const createLimits = {
    ...bodyLimits,
    large: {
      name: "state",
      bytesMax: limits.controlBytesMax + 4 * Math.ceil(stateBytesMax / 3),
    },
  };
  const find = (c: Context) => service.session(c.req.param("session")!, c.owner);
  return {
    async create(c: Context) {
      const allowInexact = flagOf(c, "allow_inexact");
      const body = await readJson(c, CreateSession, createLimits);
      if ((body.wait_s ?? 0) > 0) c.connection.keepOpen?.();
      const session = await service.open({
        model: body.model,
        owner: c.owner,
        ttlSeconds: body.ttl_s,
        waitSeconds: body.wait_s,
        record: body.record,
        outputs: body.outputs,
        readout: body.readout,
        framePeriodMs: body.frame_period_ms,
        snapshot: body.state === undefined
          ? undefined
          : snapshotOf(service.model(body.model), body.state, allowInexact),
        signal: c.req.raw.signal,
      });
      return jsonAnswer(describeSession(service, session), 201, {
        location: `/v1/sessions/${session.id}`,
      });
    },

    list(c: Context) {
      const sessions = service.sessions(c.owner);
      return jsonAnswer({ sessions: sessions.map((each) => describeSession(service, each)) });
    },

    get: (c: Context) => jsonAnswer(describeSession(service, find(c))),

    async reset(c: Context) {
      find(c); // an ended session answers before its body is read
      await readNothing(c, bodyLimits);
      const session = find(c);
      session.reset();
      // An epoch that somebody knows of must not come a second time after a crash.
      await service.keep([session]);
      return jsonAnswer(describeSession(service, session));
    },

    close(c: Context) {
      service.end(find(c), "closed");
      return EMPTY_ANSWER;
    },

    /** Has its place in the API; this version answers that it has no such thing. */
    transfer(c: Context): never {
      find(c);
      throw new GanglionError(
        "not_built",
        "POST …/transfer is not part of this version; read the state with GET …/state and give it " +
          "to the other instance with PUT …/state",
      );
    },
  };
}

/** A snapshot in base64, checked against the model that goes on from it. */
function snapshotOf({ plan, info }: ModelHost, text: string, allowInexact: boolean): Snapshot {
  let bytes: Uint8Array;
  try {
    bytes = Uint8Array.fromBase64(text);
  } catch (cause) {
    throw new GanglionError("snapshot_unreadable", "The state is not base64", {}, { cause });
  }
  return decodeSnapshot(bytes, { plan, numerics: info.numerics, allowInexact });
}
