/** A session's state as a resource: read it, replace it, branch it, take it off the device. */
import { GanglionError } from "../../base/errors.ts";
import { decodeSnapshot, encodeSnapshot, snapshotBytesMax } from "../../checkpoint/mod.ts";
import { bestType } from "../accept.ts";
import { type Answer, jsonAnswer } from "../answer.ts";
import { mediaTypeOf, readBody, readNothing } from "../body.ts";
import { type AppDeps, type Context, flagOf } from "../context.ts";
import { describeSession } from "../describe.ts";

type Deps = Pick<AppDeps, "service" | "limits" | "clock">;

const TYPE = "application/octet-stream";

export function stateRoutes({ service, limits, clock }: Deps) {
  const bodyLimits = { bytesMax: limits.controlBytesMax, seconds: limits.bodySeconds, clock };
  const find = (c: Context) => service.session(c.req.param("session")!, c.owner);
  return {
    async read(c: Context): Promise<Answer> {
      const session = find(c);
      if (bestType(c.req.header("accept"), [TYPE]) === null) {
        throw new GanglionError("not_acceptable", `A state is given as ${TYPE}`, { types: [TYPE] });
      }
      const { plan } = service.model(session.options.model);
      const snapshot = await service.snapshot(session);
      return {
        status: 200,
        headers: {
          "content-type": TYPE,
          "content-disposition": `attachment; filename="step-${snapshot.step}.safetensors"`,
          "cache-control": "no-store",
        },
        body: encodeSnapshot(plan, snapshot),
      };
    },

    async replace(c: Context) {
      const session = find(c);
      mediaTypeOf(c, [TYPE]);
      const allowInexact = flagOf(c, "allow_inexact");
      session.assertQuiet();
      const { plan, info } = service.model(session.options.model);
      const bytesMax = snapshotBytesMax(plan);
      const body = await readBody(c, { bytesMax, seconds: limits.bodySeconds, clock });
      const { numerics } = info;
      await service.restore(find(c), decodeSnapshot(body, { plan, numerics, allowInexact }));
      await service.keep([session]);
      return jsonAnswer(describeSession(service, session));
    },

    async fork(c: Context) {
      find(c);
      await readNothing(c, bodyLimits);
      const fork = await service.fork(find(c));
      const location = `/v1/sessions/${fork.id}`;
      return jsonAnswer(describeSession(service, fork), 201, { location });
    },

    async park(c: Context) {
      find(c);
      await readNothing(c, bodyLimits);
      const session = find(c);
      await service.park(session);
      return jsonAnswer(describeSession(service, session));
    },
  };
}
