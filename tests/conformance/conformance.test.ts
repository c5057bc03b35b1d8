/** Models by the official NIR package, the reference cases and the paper's files, on every executor. */
import { onEveryExecutor } from "../support/every_executor.ts";

onEveryExecutor("conformance", { deno: [{ readback: "eager" }] });
