/** Variables in the safetensors format: tensors by name, as the builders take them. */
import { GanglionError } from "../base/errors.ts";
import { parseSafetensors, type Tensor, writeSafetensors as write } from "../base/safetensors.ts";
import { sizeOf } from "../base/numeric.ts";

export type { Tensor } from "../base/safetensors.ts";

/**
 * The tensors of a safetensors file by name.
 *
 * @throws GanglionError `model_unreadable` saying what is wrong with which tensor.
 */
export function readSafetensors(bytes: Uint8Array): Record<string, Tensor> {
  try {
    return Object.fromEntries(parseSafetensors(bytes).tensors);
  } catch (error) {
    if (!(error instanceof GanglionError)) throw error;
    throw new GanglionError(
      "model_unreadable",
      `The safetensors file cannot be read: ${error.message}`,
      error.facts,
      { cause: error },
    );
  }
}

/** Tensors as the bytes of a safetensors file, f32, sorted by name; the same tensors, the same bytes. */
export function writeSafetensors(
  tensors: Readonly<Record<string, { shape: readonly number[]; data: ArrayLike<number> }>>,
): Uint8Array<ArrayBuffer> {
  const entries = Object.keys(tensors).sort().map((name): [string, Tensor] => {
    const { shape, data } = tensors[name]!;
    if (sizeOf(shape) !== data.length) {
      throw new GanglionError(
        "usage",
        `The tensor "${name}" has ${data.length} values, which do not fill [${shape}]`,
      );
    }
    return [name, { shape, data: Float32Array.from(data) }];
  });
  return write({ tensors: new Map(entries), metadata: {} });
}
