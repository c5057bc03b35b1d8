/** The door of the reference: the oracle that every executor is held to. */
export { ReferenceExecutor } from "./reference.ts";
