/** The server itself: health, models, limits, the list of addresses. */
import { GanglionError } from "../../base/errors.ts";
import type { AppDeps, Context } from "../context.ts";
import { describeModel } from "../describe.ts";

type Deps = Pick<AppDeps, "service" | "limits" | "version" | "commit">;

export function serverRoutes({ service, limits, version, commit }: Deps) {
  return {
    healthy: (c: Context) => c.json({ status: "ok", version, commit: commit ?? null }),

    live(c: Context) {
      service.assertLive();
      return c.json({ status: "live" });
    },

    ready(c: Context) {
      service.assertReady();
      return c.json({ status: "ready" });
    },

    models: (c: Context) => c.json({ models: service.models.map(describeModel) }),
    model: (c: Context) => c.json(describeModel(service.model(c.req.param("model")!))),
    limits: (c: Context) => c.json(limits),

    index(c: Context) {
      const models = service.models.map(({ id, plan }) =>
        `  ${id}  [${plan.sampleShape.join(", ")}] -> [${plan.outputShape.join(", ")}]`
      );
      const text = `Ganglion ${version}

Models
${models.join("\n")}

Addresses
  GET    /v1/models
  POST   /v1/sessions
  GET    /v1/sessions
  GET    /v1/sessions/{id}
  POST   /v1/sessions/{id}/chunks
  DELETE /v1/sessions/{id}/chunks/{seq}
  GET    /v1/sessions/{id}/outputs
  POST   /v1/sessions/{id}/reset
  POST   /v1/sessions/{id}/ticket
  DELETE /v1/sessions/{id}
  GET    /v1/outputs?session={id}&session={id}
  GET    /v1/slots
  GET    /v1/events
  GET    /v1/limits
  GET    /metrics
  GET    /healthz
  GET    /livez
  GET    /readyz
  GET    /openapi.json
`;
      return c.body(text, 200, { "content-type": "text/plain; charset=utf-8" });
    },

    later(c: Context): never {
      throw new GanglionError("not_built", `${c.req.method} ${c.req.routePath} is not built yet`);
    },
  };
}
