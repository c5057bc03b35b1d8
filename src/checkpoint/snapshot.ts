/**
 * A session's state as a public file: every state tensor of the model, with the model's digest, the
 * numerics tag, the step and a checksum. Reading checks all of them; nothing is half taken.
 */
import { GanglionError } from "../base/errors.ts";
import { canonicalise, firstNonFinite } from "../base/numeric.ts";
import type { RowState } from "../engine/executor.ts";
import type { Plan } from "../model/plan.ts";
import { type StateTensor, stateTensors } from "../model/row_state.ts";
import {
  CHECKSUM,
  checksumOf,
  readSafetensors,
  type Tensor,
  type TensorFile,
  writeSafetensors,
} from "./safetensors.ts";

export interface Snapshot {
  readonly state: RowState;
  /** Steps that the session had done. */
  readonly step: number;
  /** NUMERICS §1: the tag under which the state was computed. */
  readonly numerics: string;
}

export interface Expected {
  readonly plan: Plan;
  /** The tag of who goes on from it. */
  readonly numerics: string;
  /** Takes a state of another tag, after which outputs may differ in their last bits. */
  readonly allowInexact: boolean;
}

const FORMAT = "ganglion-state-1";
const HEADER_BYTES_MAX = 1 << 20;

/** No snapshot of this model is longer. */
export function snapshotBytesMax(plan: Plan): number {
  return stateTensors(plan).reduce((bytes, { size }) => bytes + 4 * size, 8 + HEADER_BYTES_MAX);
}

export function encodeSnapshot(
  plan: Plan,
  { state, step, numerics }: Snapshot,
): Uint8Array<ArrayBuffer> {
  const tensors = new Map<string, Tensor>();
  for (const tensor of stateTensors(plan)) {
    tensors.set(tensor.name, { shape: shapeOf(tensor), data: state.tensors[tensor.name]! });
  }
  const metadata = {
    format: FORMAT,
    model: plan.name,
    model_digest: plan.digest,
    numerics,
    step: String(step),
  };
  const checksum = checksumOf({ metadata, tensors });
  return writeSafetensors({ metadata: { ...metadata, [CHECKSUM]: checksum }, tensors });
}

/** Throws `snapshot_unreadable`, or `snapshot_refused` with the reason. */
export function decodeSnapshot(bytes: Uint8Array, expected: Expected): Snapshot {
  const file = readSafetensors(bytes, HEADER_BYTES_MAX);
  const { numerics, step } = checkMetadata(file, expected);
  const wanted = new Map(stateTensors(expected.plan).map((tensor) => [tensor.name, tensor]));
  for (const name of file.tensors.keys()) {
    if (!wanted.has(name)) {
      throw refused("tensors", `The model has no state tensor "${name}"`, { tensor: name });
    }
  }
  const tensors: Record<string, Float32Array> = {};
  for (const [name, tensor] of wanted) {
    tensors[name] = checkTensor(tensor, file.tensors.get(name));
  }
  return { state: { tensors }, step, numerics };
}

function checkMetadata(
  file: TensorFile,
  { plan, numerics: ours, allowInexact }: Expected,
): { numerics: string; step: number } {
  const { format, model_digest: digest, numerics, step: stepText, [CHECKSUM]: checksum } =
    file.metadata;
  if (format !== FORMAT) {
    throw refused(
      "format",
      `The format is ${JSON.stringify(format) ?? "missing"}, wanted is "${FORMAT}"`,
    );
  }
  if (checksum !== checksumOf(file)) {
    throw refused("checksum", "The checksum does not agree with the contents");
  }
  if (digest !== plan.digest) {
    throw refused("model", `The state is of another model than "${plan.name}"`, {
      model_digest: plan.digest,
    });
  }
  const step = /^\d{1,15}$/.test(stepText ?? "") ? Number(stepText) : NaN;
  if (numerics === undefined || Number.isNaN(step)) {
    throw refused("format", "The metadata need a numerics tag and a step, a whole number from 0");
  }
  if (numerics !== ours && !allowInexact) {
    throw refused(
      "numerics",
      `The state was computed as "${numerics}", this server computes as "${ours}"; ` +
        "allow_inexact=true takes it nevertheless",
      { numerics: ours },
    );
  }
  return { numerics, step };
}

function checkTensor(tensor: StateTensor, given: Tensor | undefined): Float32Array {
  const { name } = tensor;
  if (given === undefined) {
    throw refused("tensors", `The state tensor "${name}" is missing`, { tensor: name });
  }
  const shape = shapeOf(tensor);
  const { data: values } = given;
  if (given.shape.length !== shape.length || given.shape.some((axis, i) => axis !== shape[i])) {
    throw refused(
      "tensors",
      `"${name}" has shape [${given.shape.join(", ")}], the model needs [${shape.join(", ")}]`,
      { tensor: name },
    );
  }
  const at = firstNonFinite(values);
  if (at >= 0) {
    throw refused("values", `Value ${at} of "${name}" is NaN or infinite`, { tensor: name });
  }
  const isBits = tensor.node.state.find((each) => each.name === tensor.field)!.type === "bits";
  const noBit = isBits ? values.findIndex((x) => x !== 0 && x !== 1) : -1;
  if (noBit >= 0) {
    throw refused("values", `Value ${noBit} of "${name}" is neither 0 nor 1`, { tensor: name });
  }
  return canonicalise(values);
}

/** The node's shape; a delay line has its steps in front. */
function shapeOf({ node, size }: StateTensor): readonly number[] {
  return size === node.size ? node.shape : [size / node.size, ...node.shape];
}

type Reason = "format" | "checksum" | "model" | "numerics" | "tensors" | "values";

function refused(
  reason: Reason,
  detail: string,
  facts: Readonly<Record<string, unknown>> = {},
): GanglionError {
  return new GanglionError("snapshot_refused", detail, { reason, ...facts });
}
