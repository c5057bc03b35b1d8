#!/usr/bin/env node
/** The command `serq`: starts src/cli/serq.ts on Deno, or on Bun with `--runtime bun`. */
import { launch } from "./launch.mjs";

launch("src/cli/serq.ts", process.argv.slice(2));
