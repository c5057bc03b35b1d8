/** The library's semantics on every executor; see server_cases.ts. */
import { onEveryExecutor } from "../support/every_executor.ts";

onEveryExecutor("server", { deno: [{ readback: "eager" }] });
