/**
 * Convolutions and pools of a fused frame, as text: an invocation has one pixel and up to 32 channels.
 * A convolution first gathers which taps of its window are on, as bits in the order channel, row,
 * column, and then walks them: the order in which the reference adds.
 */
import type { ConvOp, PlanEdge } from "../model/plan.ts";
import type { Pool } from "./fused_plan.ts";

/** How the values of other nodes are read at step t. */
export interface Sources {
  value(edge: PlanEdge, i: string): string;
  pixelWord(edge: PlanEdge, group: string): string;
  isByPixel(edge: PlanEdge): boolean;
  isSpike(edge: PlanEdge): boolean;
  isInput(edge: PlanEdge): boolean;
  channelsAWord(edge: PlanEdge): number;
}

interface ConvPlace {
  /** First vec4 of a tap's weights. */
  readonly at: (tap: string) => string;
  readonly quads: number;
  readonly pixels: number;
}

const list = (count: number): number[] => Array.from({ length: count }, (_, k) => k);

/** Adds to l0, l1, … the weights of the taps that are on, times their values where these are not 1. */
export function convText(op: ConvOp, source: PlanEdge, from: Sources, place: ConvPlace): string {
  const origin = `        let pixel = group % ${place.pixels}u;
        let north = i32((pixel / ${op.outSize[1]}u) * ${op.stride[0]}u) - ${op.pad[0]};
        let west = i32((pixel % ${op.outSize[1]}u) * ${op.stride[1]}u) - ${op.pad[1]};`;
  if (from.isByPixel(source)) {
    return `${origin}
${gatherPixels(op, source, from)}
${walk(op, source, from, place, from.isSpike(source))}`;
  }
  if (!from.isInput(source)) {
    return `${origin}\n${gatherValues(op, source, from)}\n${walk(op, source, from, place, false)}`;
  }
  return `${origin}
        if (row.bits) {
${gatherRows(op)}
${walk(op, source, from, place, true)}
        } else {
${gatherValues(op, source, from)}
${walk(op, source, from, place, false)}
        }`;
}

const tapsOf = (op: ConvOp): number => op.inChannels * op.kernel[0] * op.kernel[1];
const wordsOf = (op: ConvOp): number => Math.ceil(tapsOf(op) / 32);

function noTaps(op: ConvOp): string {
  return list(wordsOf(op)).map((w) => `          var on${w} = 0u;`).join("\n");
}

/** From the packed input: a row of the window is a run of bits. */
function gatherRows(op: ConvOp): string {
  const [height, width] = op.inSize;
  const [rows, columns] = op.kernel;
  const texts = list(op.inChannels * rows).map((r) => {
    const [channel, ky] = [Math.floor(r / rows), r % rows];
    const tap = r * columns;
    const [word, shift] = [tap >>> 5, tap & 31];
    const spill = shift + columns > 32
      ? `\n            on${word + 1} |= window >> ${32 - shift}u;`
      : "";
    return `          if (across && north >= ${-ky} && north < ${height - ky}) {
            let window = input_bits(row, t, ${
      (channel * height + ky) * width
    }u + u32(north * ${width}) + left, right - left) << skip;
            on${word} |= window << ${shift}u;${spill}
          }`;
  });
  return `${noTaps(op)}
          let left = u32(max(west, 0));
          let right = u32(min(west + ${columns}, ${width}));
          let across = west < ${width} && west > ${-columns};
          let skip = left - u32(west);
${texts.join("\n")}`;
}

/** From words that hold the channels of a pixel. */
function gatherPixels(op: ConvOp, source: PlanEdge, from: Sources): string {
  const [height, width] = op.inSize;
  const [rows, columns] = op.kernel;
  const perWord = from.channelsAWord(source);
  const spots = list(rows * columns);
  const chunks = list(Math.ceil(op.inChannels / perWord)).map((chunk) => {
    const words = spots.map((k) => {
      const [ky, kx] = [Math.floor(k / columns), k % columns];
      const inside = `north >= ${-ky} && north < ${height - ky} && west >= ${-kx} && west < ${
        width - kx
      }`;
      const group = `u32(max(0, ${
        chunk * height * width
      } + (north + ${ky}) * ${width} + west + ${kx}))`;
      return `            let p${k} = select(0u, ${from.pixelWord(source, group)}, ${inside});`;
    });
    const channels = list(Math.min(perWord, op.inChannels - chunk * perWord));
    const bits = channels.flatMap((c) =>
      spots.map((k) => {
        const tap = (chunk * perWord + c) * rows * columns + k;
        return `            on${tap >>> 5} |= ((p${k} >> ${c}u) & 1u) << ${tap & 31}u;`;
      })
    );
    return `          {\n${words.join("\n")}\n${bits.join("\n")}\n          }`;
  });
  return `${noTaps(op)}\n${chunks.join("\n")}`;
}

/** From values one by one. */
function gatherValues(op: ConvOp, source: PlanEdge, from: Sources): string {
  const taps = list(tapsOf(op)).map((tap) => {
    const { inside, index } = spotOf(op, tap);
    const value = from.value(source, `u32(max(0, ${index}))`);
    return `          on${tap >>> 5} |= select(0u, ${1 << (tap & 31) >>> 0}u, ` +
      `${inside} && ${value} != 0.0);`;
  });
  return `${noTaps(op)}\n${taps.join("\n")}`;
}

function spotOf(op: ConvOp, tap: number): { inside: string; index: string } {
  const [height, width] = op.inSize;
  const [rows, columns] = op.kernel;
  const [channel, k] = [Math.floor(tap / (rows * columns)), tap % (rows * columns)];
  const [ky, kx] = [Math.floor(k / columns), k % columns];
  return {
    inside: `north >= ${-ky} && north < ${height - ky} && west >= ${-kx} && west < ${width - kx}`,
    index: `(${channel * height + ky} + north) * ${width} + west + ${kx}`,
  };
}

/** Adds the taps that are on, in ascending order. */
function walk(
  op: ConvOp,
  source: PlanEdge,
  from: Sources,
  { at, quads }: ConvPlace,
  ones: boolean,
): string {
  const [height, width] = op.inSize;
  const [rows, columns] = op.kernel;
  const spots = rows * columns;
  const index = `u32((i32(tap / ${spots}u) * ${height} + north + i32(tap % ${spots}u / ` +
    `${columns}u)) * ${width} + west + i32(tap % ${columns}u))`;
  const value = ones ? "" : `\n              let x = ${from.value(source, index)};`;
  const adds = list(quads).map((q) =>
    ones
      ? `              l${q} += weight(at + ${q}u);`
      : `              l${q} += exact4(x * weight(at + ${q}u));`
  ).join("\n");
  return list(wordsOf(op)).map((w) =>
    `          if (on${w} != 0u) {
            loop {
              let tap = ${w * 32}u + firstTrailingBit(on${w});${value}
              let at = ${at("tap")};
${adds}
              on${w} &= on${w} - 1u;
              continuing {
                break if on${w} == 0u;
              }
            }
          }`
  ).join("\n");
}

/** The sums of one pixel's window, channel by channel, and which of them are not zero. */
export function poolText(
  { node, op, source, pixels, quads }: Pool,
  from: Sources,
  { at, scale }: { readonly at: string; readonly scale: number },
): string {
  const [height, width] = op.inSize;
  const [rows, columns] = op.kernel;
  const value = from.value(source, `(channel * ${height}u + u32(iy)) * ${width}u + u32(ix)`);
  const scaled = op.scale === null ? "total" : `exact(total) * coefs[${scale}u]`;
  return `      let pixel = group % ${pixels}u;
      let first = (group / ${pixels}u) * ${quads * 4}u;
      let north = i32((pixel / ${op.outSize[1]}u) * ${op.stride[0]}u) - ${op.pad[0]};
      let west = i32((pixel % ${op.outSize[1]}u) * ${op.stride[1]}u) - ${op.pad[1]};
      var present = 0u;
      for (var k = 0u; k < min(${quads * 4}u, ${op.channels}u - first); k++) {
        let channel = first + k;
        var total = 0.0;
        for (var iy = max(0, north); iy < min(${height}, north + ${rows}); iy++) {
          for (var ix = max(0, west); ix < min(${width}, west + ${columns}); ix++) {
            total += ${value};
          }
        }
        let y = snap(${scaled});
        present |= select(0u, 1u << k, y != 0.0);
        held_values[${at} + channel * ${pixels}u + pixel] = bitcast<u32>(y);
      }
      held_values[${at} + ${node.size}u + group] = present;`;
}
