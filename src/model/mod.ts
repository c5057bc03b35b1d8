/**
 * The model lane: a NIR file or plain objects → graph → plan. The only door of this folder. The plan is
 * data; nothing here touches a device, and nothing here knows of sessions.
 */
export type { FieldLike, GraphLike, NestedNumbers, NodeLike } from "./build.ts";
export { graphOf } from "./build.ts";
export { compilePlan } from "./compile_plan.ts";
export type { NirEdge, NirField, NirGraph, NirNode, NirTensor } from "./nir.ts";
export { fieldsOf, knownTypes } from "./nir_fields.ts";
export type { NirLimits } from "./nir_file.ts";
export { DIALECT_NAMES } from "./dialects.ts";
export { decodeGraph, encodeGraph } from "./nir_wire.ts";
export { layerOf } from "./discretise.ts";
export type { CompileOptions } from "./options.ts";
export type * from "./plan.ts";
export { probesOf } from "./plan.ts";
export type { ReadOptions } from "./read_nir.ts";
export { readNirBytes } from "./read_nir.ts";
export { applyVariables, type Variables } from "./variables.ts";
export { writeNirBytes } from "./write_nir.ts";
export { describePlan, type NodeSummary, type PlanSummary } from "./describe_plan.ts";
export { printPlan } from "./print_plan.ts";
export { readSafetensors, type Tensor, writeSafetensors } from "./safetensors.ts";
