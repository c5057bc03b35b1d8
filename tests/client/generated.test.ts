/** What is generated of the client is what its sources give. */
import { expect, test } from "bun:test";
import { clientModule, clientTypes } from "../../tools/gen_client.ts";

const read = (name: string) => Bun.file(new URL(`../../client/${name}`, import.meta.url)).text();

test("client/api.gen.ts: the schemas of the server's /openapi.json", async () => {
  expect(await read("api.gen.ts")).toBe(await clientTypes());
});

test("client/ganglion.js: the client as one module", async () => {
  expect(await read("ganglion.js")).toBe(await clientModule());
});
