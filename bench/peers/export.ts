/**
 * What the peers of bench/peers read: the model as a NIR file and the frames as an array, so that all
 * contenders have the same weights and the same input. The names here are those in bench/peers/peer.py.
 */
import { writeNpy } from "../../src/mod.ts";
import { type CompileOptions, compilePlan, type Plan, writeNirBytes } from "../../src/model/mod.ts";
import { FRAME } from "../grid.ts";
import { DT, MLP, mlpGraph, Random, spikes } from "../models.ts";

/** Frames of each session in the recording. */
export const ROUNDS = 64;
export const SESSIONS_MAX = 64;
const DENSITY = 0.05;

/**
 * How the file is read: as sparx reads it (spikes where v >= threshold, back to 0, gain in the weights)
 * with the decays of the bench's models.
 */
export const READING: CompileOptions = { dt: DT, dialect: "sparx", discretization: "euler" };

export function peerPlan(): Plan {
  return compilePlan(mlpGraph(MLP), READING);
}

/** Spikes, `[ROUNDS, SESSIONS_MAX, FRAME, inputs]`, row-major. */
export function peerFrames(): Float32Array {
  return spikes(new Random(7), ROUNDS * SESSIONS_MAX * FRAME * MLP[0], DENSITY);
}

/** The files' bytes by name. */
export async function peerFiles(frames: Float32Array): Promise<Record<string, Uint8Array>> {
  return {
    "model.nir": await writeNirBytes(mlpGraph(MLP), { dt: DT }),
    "frames.npy": writeNpy(frames, [ROUNDS, SESSIONS_MAX, FRAME, MLP[0]]),
  };
}
