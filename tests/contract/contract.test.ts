/** DESIGN §3 on every executor; see cases.ts. */
import { onEveryExecutor } from "../support/every_executor.ts";

onEveryExecutor("contract", ["eager", "awaited"]);
