/** DESIGN §3 on every executor; see cases.ts. */
import { onEveryExecutor } from "../support/every_executor.ts";

onEveryExecutor("contract", {
  choices: true,
  deno: [{ readback: "eager" }, { readback: "awaited", kernels: "layers" }],
});
