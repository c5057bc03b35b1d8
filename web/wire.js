// @ts-check
/** Outputs as they travel: base64 of f32 or of packed bits → values. */

/** @param {string} text */
function bytesOf(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Numbers on the wire are little-endian, whatever this machine is. @param {string} text */
export function floats(text) {
  const bytes = bytesOf(text);
  const view = new DataView(bytes.buffer);
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
}

/**
 * @param {string} text per step ⌈size/32⌉ words, bit 0 first
 * @param {number} steps
 * @param {number} size
 */
export function bits(text, steps, size) {
  const bytes = bytesOf(text);
  const bytesAStep = 4 * Math.ceil(size / 32);
  const values = new Float32Array(steps * size);
  for (let t = 0; t < steps; t++) {
    for (let i = 0; i < size; i++) {
      const byte = bytes[t * bytesAStep + (i >> 3)] ?? 0;
      values[t * size + i] = (byte >> (i & 7)) & 1;
    }
  }
  return values;
}
