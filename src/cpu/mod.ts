/** The door of the CPU executor. */
export { CpuExecutor } from "./cpu.ts";
