/**
 * The shader check of the gate, on Deno: every kernel that the compiler writes for the contract's plans
 * goes through naga, which names line and column; and each file in shaders/ opens with a comment and
 * names its twin. Prints what is wrong and exits 1.
 */
import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";
import { type Kernel, OUTPUT_BEGIN } from "../src/engine/kernel_text.ts";
import { KernelWriter } from "../src/engine/kernels.ts";
import { defaultChoice } from "../src/engine/choice.ts";
import { writeFused } from "../src/engine/fused.ts";
import { layOut } from "../src/engine/layout.ts";
import { openDevice } from "../src/engine/mod.ts";
import { packParameters } from "../src/engine/parameters.ts";
import { LAYERS } from "../src/layers/mod.ts";
import type { Plan } from "../src/model/plan.ts";
import { findGpu } from "../src/runtime/gpu.ts";
import { PLANS } from "../tests/contract/cases.ts";
import { type LayerName, mlpPlan } from "../tests/support/plans.ts";

const problems: string[] = [];

/** Files without a twin of their own: what all kernels share. */
const SHARED = ["bindings", "numeric", "weights_buffer", "weights_texture"];

function checkFiles(): void {
  const folder = new URL("../shaders/", import.meta.url);
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".wgsl"))) {
    const text = readFileSync(new URL(file, folder), "utf8");
    const name = file.replace(".wgsl", "");
    if (!text.startsWith("// ")) problems.push(`${file}: it must open with a comment`);
    const shared = SHARED.includes(name) || name.startsWith("skeleton_");
    if (!shared && !/Twin: /.test(text)) problems.push(`${file}: it must name its twin`);
    if (!shared && text.includes("@group(")) problems.push(`${file}: only skeletons hold bindings`);
    for (const line of text.split("\n").filter((each) => each.length > 110)) {
      problems.push(`${file}: a line has ${line.length} characters: ${line.slice(0, 40)}…`);
    }
  }
}

/** Every kernel of a plan, with every state field recorded. */
function kernelsOf(plan: Plan): Kernel[] {
  const layout = layOut(plan, { slots: 4, frame: 20 });
  const parameters = packParameters(plan);
  const writer = new KernelWriter(layout, parameters);
  const fused = [true, false].map((software) => defaultChoice({ software, name: "" })).flatMap((
    choice,
  ) =>
    (["buffer", "texture"] as const).flatMap((weights) =>
      (["bits", "tlist"] as const).flatMap((input) =>
        writeFused(layout, parameters, { ...choice, weights, input })?.kernel ?? []
      )
    )
  );
  const layers = plan.nodes.slice(1).flatMap((node) => {
    const recorded = node.state.filter(({ type, name }) => type === "f32" && name !== "last");
    const probes = recorded.map(({ name }) => ({ field: name, offset: OUTPUT_BEGIN }));
    return [
      ...writer.write(node),
      ...writer.write(node, node.op.op === "pointwise" ? probes : []),
      writer.emit(node, OUTPUT_BEGIN, true),
    ];
  });
  return [...fused, ...layers];
}

async function checkKernels(): Promise<number> {
  const { device } = await openDevice((await findGpu()).gpu);
  const everyLayer = (Object.keys(LAYERS) as LayerName[]).map((layer) => mlpPlan(1, layer, 0));
  const kernels = new Map<string, Kernel>();
  for (const kernel of [...PLANS, ...everyLayer].flatMap(kernelsOf)) {
    kernels.set(kernel.code, kernel);
  }
  for (const { label, code } of kernels.values()) {
    device.pushErrorScope("validation");
    const module = device.createShaderModule({ label, code });
    const { messages } = await module.getCompilationInfo();
    await device.popErrorScope();
    for (const { lineNum, linePos, message } of messages) {
      const line = code.split("\n")[lineNum - 1] ?? "";
      problems.push(`kernel of "${label}", ${lineNum}:${linePos}: ${message}\n  ${line.trim()}`);
    }
    if (!/@workgroup_size\(\w+, 1, 1\)/.test(code)) {
      problems.push(`kernel of "${label}": write all three numbers of the workgroup size`);
    }
  }
  device.destroy();
  return kernels.size;
}

checkFiles();
const count = await checkKernels();
for (const problem of problems) console.error(problem);
console.log(`${count} kernels checked, ${problems.length} problems`);
process.exit(problems.length === 0 && count > 0 ? 0 : 1);
