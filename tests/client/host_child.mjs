/** One host of the client as a program: `host_child.mjs CLIENT_MODULE SETTINGS`; prints its result. */
import process from "node:process";
import { streamThrough } from "./stream_through.mjs";

const [, , module, settings] = process.argv;
const sdk = await import(module);
console.log(JSON.stringify(await streamThrough(sdk, JSON.parse(settings))));
process.exit(0);
