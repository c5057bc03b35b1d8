// @ts-check
/**
 * A recording in NumPy's `.npy` format, read piece by piece as it is played: a file may be longer than
 * memory. What can be read is what the server reads (docs/http_api.md).
 */
import { shapeText, sizeOf } from "./format.js";

/**
 * @typedef {object} Recording
 * @property {number} steps
 * @property {(from: number, to: number) => Promise<Float32Array>} read values of those steps: [steps][inputs]
 */

const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59]; // \x93NUMPY
/** Bytes that hold the head of any array of few axes. */
const HEAD_BYTES_MAX = 4096;

/** @type {Record<string, { bytes: number, read: (data: ArrayBuffer) => Float32Array }>} */
const TYPES = {
  "<f4": { bytes: 4, read: (data) => new Float32Array(data) },
  "<f8": { bytes: 8, read: (data) => Float32Array.from(new Float64Array(data)) },
  "u1": { bytes: 1, read: (data) => Float32Array.from(new Uint8Array(data)) },
  "i1": { bytes: 1, read: (data) => Float32Array.from(new Int8Array(data)) },
  "b1": { bytes: 1, read: (data) => Float32Array.from(new Uint8Array(data), (b) => b && 1) },
  "<i2": { bytes: 2, read: (data) => Float32Array.from(new Int16Array(data)) },
  "<i4": { bytes: 4, read: (data) => Float32Array.from(new Int32Array(data)) },
  "<i8": { bytes: 8, read: (data) => Float32Array.from(new BigInt64Array(data), Number) },
};

/**
 * Reads the head of a file. Throws an error that says what is wrong with it.
 * @param {Blob} file
 * @param {readonly number[]} sampleShape of a step of the model's input
 * @returns {Promise<Recording>}
 */
export async function openRecording(file, sampleShape) {
  const { dtype, shape, dataStart } = headOf(await file.slice(0, HEAD_BYTES_MAX).arrayBuffer());
  const type = TYPES[dtype.replace(/^[<>|=](?=[uib]1$)/, "")];
  if (type === undefined) {
    throw new Error(`The .npy file has elements "${dtype}"; save it as float32 or uint8`);
  }
  const [steps, ...sample] = shape;
  const size = sizeOf(sampleShape);
  const fits = String(sample) === String(sampleShape) || String(sample) === String(size) ||
    (size === 1 && sample.length === 0);
  if (steps === undefined || !fits) {
    throw new Error(
      `The .npy file has shape ${shapeText(shape)}, wanted is [n, ${sampleShape.join(", ")}]`,
    );
  }
  if (steps === 0) throw new Error("The .npy file holds no time step");
  const stepBytes = size * type.bytes;
  if (file.size !== dataStart + steps * stepBytes) {
    throw new Error(
      `The .npy file is cut off or too long: its ${steps} steps take ${steps * stepBytes} bytes, ` +
        `it has ${file.size - dataStart}`,
    );
  }
  const at = (/** @type {number} */ step) => dataStart + Math.min(step, steps) * stepBytes;
  return {
    steps,
    read: async (from, to) => type.read(await file.slice(at(from), at(to)).arrayBuffer()),
  };
}

/** @param {ArrayBuffer} data */
function headOf(data) {
  const bytes = new Uint8Array(data);
  const version = bytes[6] ?? 0;
  if (
    MAGIC.some((byte, i) => bytes[i] !== byte) || version < 1 || version > 3 || data.byteLength < 12
  ) {
    throw new Error("This is no .npy file, as numpy.save writes it");
  }
  const view = new DataView(data);
  const textStart = version === 1 ? 10 : 12;
  const dataStart = textStart +
    (version === 1 ? view.getUint16(8, true) : view.getUint32(8, true));
  const text = new TextDecoder().decode(bytes.subarray(textStart, dataStart));
  const dtype = /['"]descr['"]\s*:\s*['"]([^'"]*)['"]/.exec(text)?.[1];
  const axes = /['"]shape['"]\s*:\s*\(([\d\s,L]*)\)/.exec(text)?.[1];
  if (dtype === undefined || axes === undefined || dataStart > data.byteLength) {
    throw new Error("The .npy file is no plain array: save one array of numbers, [steps, inputs]");
  }
  if (/['"]fortran_order['"]\s*:\s*True/.test(text)) {
    throw new Error("The .npy file is in Fortran order; save it with numpy.ascontiguousarray");
  }
  return { dtype, shape: (axes.match(/\d+/g) ?? []).map(Number), dataStart };
}
