/** How much memory a server needs, as docs/operations.md says; asked before it starts. */
import { GanglionError } from "../base/errors.ts";
import type { Limits } from "../base/limits.ts";
import type { Plan } from "../model/plan.ts";
import { stateTensors } from "../model/row_state.ts";
import { queueCapacity } from "./session_queue.ts";

/** The runtime, the program, the drivers. */
const PROGRAM_BYTES = 160 << 20;
const MIB = 2 ** 20;

export interface MemoryNeeds {
  /** Two versions of every slot's state. */
  readonly state: number;
  /** Inputs and outputs of one step. */
  readonly steps: number;
  /** States of idle sessions on the host, with `--sessions-max`. */
  readonly parked: number;
  /** Outputs held for late readers; full after a while in normal work. */
  readonly rings: number;
  /** Outputs of ended sessions. */
  readonly gone: number;
  /** What is there sooner or later, whatever clients do. */
  readonly sure: number;
  /** Inputs that wait when every session's queue is full. */
  readonly queues: number;
  /** As many sessions as fork and park may put beside the slots: state, ring and full queue. */
  readonly forks: number;
  /** All of it, and one body that is being read. */
  readonly most: number;
}

/** Bytes of one session's state on the host. */
function rowBytes(plan: Plan): number {
  return stateTensors(plan).reduce((bytes, { size }) => bytes + 4 * size, 0);
}

/**
 * Sessions that a model may have beside its slots where no number is set: `parkedBytesMax` holds the
 * state and the ring of each.
 */
export function sessionsOnHost(plan: Plan, limits: Limits): number {
  return Math.floor(limits.parkedBytesMax / (rowBytes(plan) + limits.ringBytesMax));
}

export function memoryNeeds(plans: readonly Plan[], limits: Limits): MemoryNeeds {
  const { slots, frame, ringBytesMax, goneBytesMax, bodyBytesMax } = limits;
  const sum = (bytes: (plan: Plan) => number) =>
    slots * plans.reduce((total, plan) => total + bytes(plan), 0);
  const state = sum(({ stateWords }) => 2 * 4 * stateWords);
  const steps = sum(({ sampleSize, outputSize }) => 4 * frame * (sampleSize + outputSize));
  const queue = ({ sampleSize }: Plan) => 4 * sampleSize * queueCapacity(sampleSize, limits);
  const beyond = Math.max(0, limits.sessionsMax / slots - 1);
  const parked = beyond * sum(rowBytes);
  const rings = (1 + beyond) * sum(() => ringBytesMax);
  const queues = (1 + beyond) * sum(queue);
  const forks = limits.sessionsMax > 0 ? 0 : plans.reduce(
    (total, plan) =>
      total + sessionsOnHost(plan, limits) * (rowBytes(plan) + ringBytesMax + queue(plan)),
    0,
  );
  const sure = PROGRAM_BYTES + state + steps + parked + rings + goneBytesMax;
  const most = sure + queues + forks + bodyBytesMax;
  return { state, steps, parked, rings, gone: goneBytesMax, sure, queues, forks, most };
}

/**
 * Refuses what cannot fit. Returns a sentence to say when it fits only as long as not every queue is
 * full or sessions are not forked without end, else null.
 */
export function checkMemory(
  plans: readonly Plan[],
  limits: Limits,
  machineBytes: number | null,
): string | null {
  const bytes = limits.memoryBytesMax || machineBytes;
  if (bytes === null) return null;
  const { state, parked, rings, gone, sure, queues, forks, most } = memoryNeeds(plans, limits);
  const mib = (value: number) => `${Math.ceil(value / MIB)} MiB`;
  if (sure > bytes) {
    throw new GanglionError(
      "usage",
      `${limits.slots} slots need ${mib(sure)} and there are ${mib(bytes)}: state ${mib(state)}, ` +
        `parked states ${mib(parked)}, rings ${mib(rings)}, outputs of ended sessions ${
          mib(gone)
        }. ` +
        "Lower --slots, or --limit ringBytesMax=… or goneBytesMax=…",
      { bytes: sure, memory_bytes: bytes },
    );
  }
  return most <= bytes
    ? null
    : `with every queue full and as many forks as may be it would take ${mib(most)} of ` +
      `${mib(bytes)} (queues ${mib(queues)}, forks ${mib(forks)}); ` +
      "--limit queueBytesMax=… and parkedBytesMax=… bound them";
}
