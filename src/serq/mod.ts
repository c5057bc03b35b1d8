/**
 * serQ: a language in which a serving deployment is a program, run as a discrete-event simulation.
 * `compile` a text to its IR, run it with an `Interpreter`, read the report off it.
 */
export { compile, compileForReading, type CompileOptions, evaluateConstant } from "./compile.ts";
export { SerqError } from "./diagnostic.ts";
export { draw } from "./draw.ts";
export { parseInstance } from "./instance.ts";
export type * from "./ir.ts";
export { IR_VERSION } from "./ir.ts";
export { Interpreter, type InterpreterOptions } from "./interpreter.ts";
export type { Lowered } from "./lower.ts";
export { ARGUMENT_CODES, LINK_CODES, PARSE_CODES } from "./messages.ts";
export { parseProgram } from "./parse.ts";
export { print } from "./print.ts";
export { type Report, reportOf } from "./report.ts";
export { jsonOf, showNumber } from "./show.ts";
export { readTrace } from "./trace.ts";
export { RunError } from "./run_errors.ts";
