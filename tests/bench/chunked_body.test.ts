/** The benches' client reads a chunked body whole, wherever the network and the server cut it. */
import { Buffer } from "node:buffer";
import { expect, test } from "bun:test";
import fc from "fast-check";
import { ChunkedBody } from "../../bench/raw_http.ts";

const chunked = (parts: readonly string[]): string =>
  [...parts, ""].map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join("");

test("what was sent comes out, cut anywhere", () => {
  const part = fc.string({ unit: fc.constantFrom("a", "\r", "\n", "0", "f"), minLength: 1 });
  fc.assert(fc.property(fc.array(part), fc.array(fc.nat(200)), (parts, cuts) => {
    const sent = Buffer.from(chunked(parts), "latin1");
    const at = [...new Set([0, ...cuts.filter((cut) => cut < sent.length), sent.length])];
    at.sort((a, b) => a - b);
    const body = new ChunkedBody();
    const got = at.slice(1).map((end, i) => body.take(sent.subarray(at[i]!, end)));
    expect(got.join("")).toBe(parts.join(""));
  }));
});

test("text is given as soon as it has come", () => {
  const body = new ChunkedBody();
  expect(body.take(Buffer.from("a\r\n01234"))).toBe("01234");
  expect(body.take(Buffer.from("56789\r\n3"))).toBe("56789");
  expect(body.take(Buffer.from("\r\nabc\r"))).toBe("abc");
});
