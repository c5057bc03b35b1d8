/** The door of the CPU executor. */
export { CpuExecutor } from "./cpu.ts";
export { type HelperOpening, type HelperThread, helpOut } from "./team.ts";
