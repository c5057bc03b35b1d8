/**
 * Twins of the linear shaders (dense, conv, pool): each output has one accumulator that starts at +0
 * and takes its inputs in ascending order, one rounding a product and an addition, the bias last.
 * Plain loops on purpose.
 */
import { snap } from "../base/numeric.ts";
import type { ConvOp, DenseOp, PoolOp } from "../model/plan.ts";

const f = Math.fround;

/** Twin of shaders/dense.wgsl. */
export function dense(op: DenseOp, x: Float32Array, y: Float32Array): void {
  const { blocks, inputs, outputs, weights, bias } = op;
  for (let b = 0; b < blocks; b++) {
    for (let i = 0; i < outputs; i++) {
      let sum = 0;
      for (let j = 0; j < inputs; j++) {
        sum = f(sum + f(x[b * inputs + j]! * weights[(b * inputs + j) * outputs + i]!));
      }
      y[b * outputs + i] = snap(bias === null ? sum : f(sum + bias[b * outputs + i]!));
    }
  }
}

/** Twin of shaders/conv.wgsl. */
export function conv(op: ConvOp, x: Float32Array, y: Float32Array): void {
  const inPerGroup = op.inChannels / op.groups;
  const outPerGroup = op.outChannels / op.groups;
  const [height, width] = op.inSize;
  const [outHeight, outWidth] = op.outSize;
  const [kernelHeight, kernelWidth] = op.kernel;
  for (let co = 0; co < op.outChannels; co++) {
    const group = Math.floor(co / outPerGroup);
    for (let oy = 0; oy < outHeight; oy++) {
      for (let ox = 0; ox < outWidth; ox++) {
        let sum = 0;
        for (let c = 0; c < inPerGroup; c++) {
          for (let ky = 0; ky < kernelHeight; ky++) {
            const iy = oy * op.stride[0] - op.pad[0] + ky * op.dilation[0];
            if (iy < 0 || iy >= height) continue;
            for (let kx = 0; kx < kernelWidth; kx++) {
              const ix = ox * op.stride[1] - op.pad[1] + kx * op.dilation[1];
              if (ix < 0 || ix >= width) continue;
              const tap = ((group * inPerGroup + c) * kernelHeight + ky) * kernelWidth + kx;
              const weight = op.weights[tap * outPerGroup + (co - group * outPerGroup)]!;
              const input = x[((group * inPerGroup + c) * height + iy) * width + ix]!;
              sum = f(sum + f(input * weight));
            }
          }
        }
        y[(co * outHeight + oy) * outWidth + ox] = snap(
          op.bias === null ? sum : f(sum + op.bias[co]!),
        );
      }
    }
  }
}

/** Twin of shaders/pool.wgsl. Padding counts as zeros. */
export function pool(op: PoolOp, x: Float32Array, y: Float32Array): void {
  const [height, width] = op.inSize;
  const [outHeight, outWidth] = op.outSize;
  for (let c = 0; c < op.channels; c++) {
    for (let oy = 0; oy < outHeight; oy++) {
      for (let ox = 0; ox < outWidth; ox++) {
        let sum = 0;
        for (let ky = 0; ky < op.kernel[0]; ky++) {
          const iy = oy * op.stride[0] - op.pad[0] + ky;
          if (iy < 0 || iy >= height) continue;
          for (let kx = 0; kx < op.kernel[1]; kx++) {
            const ix = ox * op.stride[1] - op.pad[1] + kx;
            if (ix < 0 || ix >= width) continue;
            sum = f(sum + x[(c * height + iy) * width + ix]!);
          }
        }
        y[(c * outHeight + oy) * outWidth + ox] = snap(
          op.scale === null ? sum : f(sum * op.scale[0]!),
        );
      }
    }
  }
}
