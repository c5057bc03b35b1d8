/**
 * Makes what is generated of the client: `npx bun tools/gen_client.ts`. Its types, client/api.gen.ts, from
 * the schemas of the OpenAPI document that the server gives; and client/ganglion.js, the client as one
 * plain module for browsers and Node. tests/client/generated.test.ts holds both to their sources.
 */
import { build } from "esbuild";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import openapiTypes from "openapi-typescript";
import { createServer, makeLimits } from "../src/mod.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const HEAD = "// Made by tools/gen_client.ts; do not edit.\n";

/** The text of client/api.gen.ts. */
export async function clientTypes(): Promise<string> {
  const server = await createServer({
    models: [join(ROOT, "examples/digits/digits.nir")],
    device: "cpu",
    thread: false,
    limits: makeLimits(),
    version: "0.0.0",
  });
  try {
    const answer = await server.fetch(new Request("http://localhost/openapi.json"));
    const { components, ...document } = await answer.json() as { components: object };
    return HEAD +
      await openapiTypes({ ...document, openapi: "3.1.0", paths: {}, components } as never, {
        commentHeader: "",
      });
  } finally {
    await server.close();
  }
}

/** The text of client/ganglion.js. */
export async function clientModule(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(ROOT, "client/mod.ts")],
    absWorkingDir: ROOT,
    bundle: true,
    format: "esm",
    target: "es2022",
    write: false,
    charset: "utf8",
    banner: { js: HEAD },
  });
  return outputFiles[0]!.text;
}

if (import.meta.main) {
  // The module needs no types, but a reader of a stale file would.
  writeFileSync(join(ROOT, "client/api.gen.ts"), await clientTypes());
  writeFileSync(join(ROOT, "client/ganglion.js"), await clientModule());
}
