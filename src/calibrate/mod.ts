/** The cost of a server's steps and chunks: measured, fitted, and written as a serQ program. */
export { measureExecutor } from "./bare.ts";
export { type CostFit, fitCost, fitOwn, type OwnCost } from "./fit.ts";
export { writeProgram } from "./program.ts";
export { measureServer, type Pace } from "./served.ts";
