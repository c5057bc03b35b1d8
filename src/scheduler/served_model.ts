/**
 * What serves one model: its host, the loop of its steps, where its sessions' states are, who waits for
 * a slot, and the watch over its steps. Also how a request finds the model that it means.
 */
import type { Clock } from "../base/clock.ts";
import { GanglionError } from "../base/errors.ts";
import type { Limits } from "../base/limits.ts";
import { Admission } from "./admission.ts";
import type { ModelHost } from "./model_host.ts";
import type { Observer } from "./observer.ts";
import { Residency } from "./residency.ts";
import type { StateParts } from "./session_states.ts";
import { StepLoop } from "./step_loop.ts";
import { StepWatchdog } from "./step_watchdog.ts";

export interface ServedModel extends StateParts {
  readonly admission: Admission;
  readonly watchdog: StepWatchdog;
}

export interface ServingParts {
  readonly clock: Clock;
  readonly limits: Limits;
  readonly observe: Observer;
  readonly say: (line: string) => void;
  /** The device is gone and nothing can replace it. */
  readonly onLostForGood: (served: ServedModel) => void;
}

export function serveModel(host: ModelHost, parts: ServingParts): ServedModel {
  const { clock, limits, observe, say, onLostForGood } = parts;
  const watchdog = new StepWatchdog({
    clock,
    secondsMax: limits.stepSecondsMax,
    onStuck: (seconds) => {
      say(`a step of ${host.id} has not ended for ${seconds} s: /livez fails until it does`);
      observe({ kind: "stuck", model: host.id });
    },
    onFree: (seconds) => say(`the step of ${host.id} ended after ${seconds} s`),
  });
  const residency = new Residency({
    host,
    clock,
    limits,
    watchdog,
    onLost: () => {
      observe({ kind: "device_lost", model: host.id });
      if (host.canRebuild) served.loop.start();
      else onLostForGood(served);
    },
    onRoom: () => served.admission.admit(),
  });
  const served: ServedModel = {
    host,
    residency,
    watchdog,
    loop: new StepLoop({
      host,
      residency,
      clock,
      watchdog,
      retries: limits.stepRetries,
      gatherMs: limits.stepGatherMs,
      onStep: (step) => observe({ kind: "step", model: host.id, step }),
    }),
    admission: new Admission({
      clock,
      waitingMax: limits.waitingSessionsMax,
      slots: limits.sessionsMax || host.scheduler.slots,
      slotsFree: () => residency.room,
    }),
  };
  return served;
}

/** The model of this name; the only one when none is named. */
export function modelNamed(
  served: ReadonlyMap<string, ServedModel>,
  id: string | undefined,
): ServedModel {
  const named = id === undefined ? undefined : served.get(id);
  if (named !== undefined) return named;
  const [only, ...others] = served.values();
  if (id === undefined && only !== undefined && others.length === 0) return only;
  const models = [...served.keys()];
  if (id !== undefined) {
    throw new GanglionError("model_unknown", `No model is served under this name`, { models });
  }
  throw new GanglionError("model_required", `Name one of the served models: ${models.join(", ")}`, {
    models,
  });
}
