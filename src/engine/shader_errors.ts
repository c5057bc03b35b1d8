/**
 * What a device says of a kernel that does not compile, in the lines of the text that its author wrote:
 * a layer's own WGSL stands somewhere inside the joined text. Deno gives messages with lines; Bun has
 * only the text of the error, in which the lines are found.
 */
import { GanglionError } from "../base/errors.ts";
import type { PointwiseLayer } from "../layers/mod.ts";

interface Complaint {
  /** From 1, in the joined text; 0 when unknown. */
  readonly line: number;
  readonly text: string;
}

export async function shaderError(
  device: GPUDevice,
  label: string,
  code: string,
  layers: readonly PointwiseLayer[],
  cause: unknown,
): Promise<GanglionError> {
  const complaints = await askAgain(device, label, code);
  const lines = complaints.map((each) => `\n  ${place(each, code, layers)}`);
  const whose = layers.length === 1 ? `, layer "${layers[0]!.name}",` : "";
  return new GanglionError(
    "model_unsupported",
    `The kernel of "${label}"${whose} does not compile on this device${lines.join("")}`,
    { node: label },
    { cause },
  );
}

/** Compiles once more, only to hear what is wrong. */
async function askAgain(device: GPUDevice, label: string, code: string): Promise<Complaint[]> {
  device.pushErrorScope("validation");
  const module = device.createShaderModule({ label, code });
  const error = await device.popErrorScope();
  try {
    const { messages } = await module.getCompilationInfo();
    const told = messages.map(({ lineNum, message }) => ({ line: lineNum, text: message }));
    if (told.length > 0) return told;
  } catch {
    // Bun's Dawn has no getCompilationInfo.
  }
  return error === null ? [] : complaintsIn(error.message);
}

/** Finds `:12:5 error: text` (Dawn) and `wgsl:12:5` (naga) in an error's text. */
export function complaintsIn(message: string): Complaint[] {
  const dawn = [...message.matchAll(/:(\d+):\d+ (?:error|warning): ([^\n]*)/g)]
    .map(([, line, text]) => ({ line: Number(line), text: text! }));
  if (dawn.length > 0) return dawn;
  const naga = /wgsl:(\d+):\d+/.exec(message);
  return [{ line: Number(naga?.[1] ?? 0), text: message }];
}

/** naga: `\nShader 'n' parsing error: no definition …\n  ┌─ wgsl:3:7 …`. */
function firstLine(message: string): string {
  const line = message.split("\n").find((each) => each.trim() !== "") ?? "";
  return line.trim().replace(/^Shader '[^']*' parsing error: /, "");
}

function place(
  { line, text }: Complaint,
  code: string,
  layers: readonly PointwiseLayer[],
): string {
  const first = firstLine(text);
  if (line === 0) return first;
  for (const { name, wgsl } of layers) {
    const at = code.indexOf(wgsl);
    const own = line - code.slice(0, at).split("\n").length + 1;
    const lines = wgsl.split("\n");
    if (at < 0 || own < 1 || own > lines.length) continue;
    const whose = layers.length === 1 ? "its WGSL" : `the WGSL of layer "${name}"`;
    return `line ${own} of ${whose}: ${first}\n    ${lines[own - 1]!.trim()}`;
  }
  return `line ${line} of the joined text: ${first}\n    ${
    code.split("\n")[line - 1]?.trim() ?? ""
  }`;
}
