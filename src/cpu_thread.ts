/** The program of a helper thread of the CPU executor: works on its memory until that is closed. */
import { type HelperOpening, helpOut } from "./cpu/mod.ts";
import { ownPort } from "./runtime/mod.ts";

ownPort<never, HelperOpening>().listen(helpOut);
