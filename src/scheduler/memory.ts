/** How much memory a server needs, as docs/operations.md says; asked before it starts. */
import { GanglionError } from "../base/errors.ts";
import type { Limits } from "../base/limits.ts";
import type { Plan } from "../model/plan.ts";
import { queueCapacity } from "./session_queue.ts";

/** The runtime, the program, the drivers. */
const PROGRAM_BYTES = 160 << 20;
const MIB = 2 ** 20;

export interface MemoryNeeds {
  /** Two versions of every slot's state. */
  readonly state: number;
  /** Inputs and outputs of one step. */
  readonly steps: number;
  /** Outputs held for late readers; full after a while in normal work. */
  readonly rings: number;
  /** Outputs of ended sessions. */
  readonly gone: number;
  /** What is there sooner or later, whatever clients do. */
  readonly sure: number;
  /** Inputs that wait when every session's queue is full. */
  readonly queues: number;
  /** All of it, and one body that is being read. */
  readonly most: number;
}

export function memoryNeeds(plans: readonly Plan[], limits: Limits): MemoryNeeds {
  const { slots, frame, ringBytesMax, goneBytesMax, bodyBytesMax } = limits;
  const sum = (bytes: (plan: Plan) => number) =>
    slots * plans.reduce((total, plan) => total + bytes(plan), 0);
  const state = sum(({ stateWords }) => 2 * 4 * stateWords);
  const steps = sum(({ sampleSize, outputSize }) => 4 * frame * (sampleSize + outputSize));
  const parked = Math.max(0, limits.sessionsMax / slots - 1);
  const rings = (1 + parked) * sum(() => ringBytesMax);
  const queues = (1 + parked) *
    sum(({ sampleSize }) => 4 * sampleSize * queueCapacity(sampleSize, limits));
  const sure = PROGRAM_BYTES + state + steps + rings + goneBytesMax;
  const most = sure + queues + bodyBytesMax;
  return { state, steps, rings, gone: goneBytesMax, sure, queues, most };
}

/**
 * Refuses what cannot fit. Returns a sentence to say when it fits only as long as not every queue is
 * full, else null.
 */
export function checkMemory(
  plans: readonly Plan[],
  limits: Limits,
  machineBytes: number | null,
): string | null {
  const bytes = limits.memoryBytesMax || machineBytes;
  if (bytes === null) return null;
  const { state, rings, gone, sure, queues, most } = memoryNeeds(plans, limits);
  const mib = (value: number) => `${Math.ceil(value / MIB)} MiB`;
  if (sure > bytes) {
    throw new GanglionError(
      "usage",
      `${limits.slots} slots need ${mib(sure)} and there are ${mib(bytes)}: state ${mib(state)}, ` +
        `rings ${mib(rings)}, outputs of ended sessions ${mib(gone)}. ` +
        "Lower --slots, or --limit ringBytesMax=… or goneBytesMax=…",
      { bytes: sure, memory_bytes: bytes },
    );
  }
  return most <= bytes
    ? null
    : `with every queue full it would take ${mib(most)} of ${mib(bytes)} ` +
      `(queues ${mib(queues)}); --limit queueBytesMax=… bounds them`;
}
