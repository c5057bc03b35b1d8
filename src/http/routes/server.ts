/** The server itself: health, models, limits. */
import type { AppDeps, Context } from "../context.ts";
import { describeGraph, describeModel } from "../describe.ts";

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
    graph: (c: Context) => c.json(describeGraph(service.model(c.req.param("model")!))),
    limits: (c: Context) => c.json(limits),
  };
}
