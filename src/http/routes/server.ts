/** The server itself: health, models, limits. */
import { jsonAnswer } from "../answer.ts";
import type { AppDeps, Context } from "../context.ts";
import { describeGraph, describeModel } from "../describe.ts";

type Deps = Pick<AppDeps, "service" | "limits" | "version" | "commit">;

export function serverRoutes({ service, limits, version, commit }: Deps) {
  return {
    healthy: () => jsonAnswer({ status: "ok", version, commit: commit ?? null }),

    live() {
      service.assertLive();
      return jsonAnswer({ status: "live" });
    },

    ready() {
      service.assertReady();
      return jsonAnswer({ status: "ready" });
    },

    models: () => jsonAnswer({ models: service.models.map(describeModel) }),
    model: (c: Context) => jsonAnswer(describeModel(service.model(c.req.param("model")!))),
    graph: (c: Context) => jsonAnswer(describeGraph(service.model(c.req.param("model")!))),
    limits: () => jsonAnswer(limits),
  };
}
