#!/usr/bin/env node
/** The command `ganglion`: starts src/cli/main.ts on Deno, or on Bun with `--runtime bun`. */
import { launch } from "./launch.mjs";

launch("src/cli/main.ts", process.argv.slice(2));
