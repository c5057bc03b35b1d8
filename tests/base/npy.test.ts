import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { GanglionError } from "../../src/base/errors.ts";
import { parseNpy, writeNpy } from "../../src/base/npy.ts";
import fixtures from "./npy_fixtures.json";

const fromBase64 = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "base64"));

/** An array with any header text: what no NumPy would write. */
function withHeader(header: string, dataBytes = 0, version = 1): Uint8Array {
  const text = new TextEncoder().encode(header);
  const length = version === 1
    ? [text.length & 0xff, text.length >> 8]
    : [text.length & 0xff, (text.length >> 8) & 0xff, text.length >> 16, 0];
  const head = [0x93, ...new TextEncoder().encode("NUMPY"), version, 0, ...length];
  return Uint8Array.from([...head, ...text, ...new Uint8Array(dataBytes)]);
}

function refusal(bytes: Uint8Array): string {
  try {
    parseNpy(bytes);
  } catch (error) {
    expect(error).toBeInstanceOf(GanglionError);
    expect((error as GanglionError).code).toBe("bad_array");
    return (error as GanglionError).message;
  }
  throw new Error("it was taken");
}

describe("arrays saved by NumPy", () => {
  for (const { name, base64, ...expected } of fixtures) {
    test(name, () => {
      const bytes = fromBase64(base64);
      if (expected.refused) {
        expect(refusal(bytes)).not.toBe("");
        return;
      }
      const { dtype, shape, values } = parseNpy(bytes);
      expect({ dtype, shape, values: [...values] }).toEqual({
        dtype: expected.dtype!,
        shape: expected.shape!,
        values: expected.values!,
      });
      if (dtype === "<f4" && !name.startsWith("version")) {
        expect(writeNpy(values, shape)).toEqual(bytes as Uint8Array<ArrayBuffer>);
      }
    });
  }

  test("refusals name the type", () => {
    const named = fixtures.filter(({ refused }) => refused).map(({ name, base64 }) =>
      `${name}: ${refusal(fromBase64(base64))}`
    );
    expect(named.join("\n")).toMatchInlineSnapshot(`
      "big-endian: Element type ">f4" is not taken; taken are <f4 <f8 |u1 |i1 |b1 <i2 <i4 <i8
      half: Element type "<f2" is not taken; taken are <f4 <f8 |u1 |i1 |b1 <i2 <i4 <i8
      unsigned 16: Element type "<u2" is not taken; taken are <f4 <f8 |u1 |i1 |b1 <i2 <i4 <i8
      complex: Element type "<c8" is not taken; taken are <f4 <f8 |u1 |i1 |b1 <i2 <i4 <i8
      text: Element type "<U1" is not taken; taken are <f4 <f8 |u1 |i1 |b1 <i2 <i4 <i8
      times: Element type "<m8[s]" is not taken; taken are <f4 <f8 |u1 |i1 |b1 <i2 <i4 <i8
      structured: Structured element types are not taken
      structured, version 3: Structured element types are not taken
      fortran order: The array is in Fortran order; save it with numpy.ascontiguousarray"
    `);
  });
});

describe("what is written is read back", () => {
  const shapes = fc.array(fc.nat(5), { maxLength: 4 });

  test("bit for bit, in every shape, at every offset", () => {
    fc.assert(fc.property(shapes, fc.nat(7), fc.gen(), (shape, offset, gen) => {
      const count = shape.reduce((product, axis) => product * axis, 1);
      const values = Float32Array.from({ length: count }, () => gen(fc.float));
      const file = writeNpy(values, shape);
      expect((file.length - values.byteLength) % 64).toBe(0);
      const shifted = new Uint8Array(file.length + offset);
      shifted.set(file, offset);
      const array = parseNpy(shifted.subarray(offset));
      expect(array.shape).toEqual(shape);
      expect(new Uint8Array(array.values.buffer)).toEqual(new Uint8Array(values.buffer));
    }));
  });

  test("from a Node Buffer, whose slices share its memory", () => {
    const file = Buffer.from(writeNpy(new Float32Array([1, 2]), [2]));
    expect(parseNpy(file).values).toEqual(new Float32Array([1, 2]));
  });

  test("a file that is cut or lengthened anywhere is refused", () => {
    const file = writeNpy(new Float32Array([1, 2, 3, 4, 5, 6]), [2, 3]);
    for (let length = 0; length < file.length; length++) refusal(file.slice(0, length));
    refusal(Uint8Array.from([...file, 0]));
  });

  test("any changed byte gives an array or bad_array, never anything else", () => {
    const file = writeNpy(new Float32Array(12), [3, 4]);
    fc.assert(fc.property(fc.nat(file.length - 1), fc.nat(255), (at, byte) => {
      const changed = file.slice();
      changed[at] = byte;
      try {
        parseNpy(changed);
      } catch (error) {
        expect((error as GanglionError).code).toBe("bad_array");
      }
    }));
  });

  test("any bytes at all give bad_array", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (junk) => {
      refusal(junk);
      refusal(Uint8Array.from([...file0.slice(0, 10), ...junk]));
    }));
  });
  const file0 = writeNpy(new Float32Array(0), [0]);
});

describe("headers", () => {
  const good = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n";

  test("what other writers write is taken", () => {
    for (
      const header of [
        good,
        `{"descr": "<f4", "fortran_order": False, "shape": (1,)}`,
        "{'shape': (1L,), 'fortran_order': False, 'descr': '<f4'}   \n",
        "{'descr':'<f4','fortran_order':False,'shape':()}",
      ]
    ) {
      expect(parseNpy(withHeader(header, 4)).values).toEqual(new Float32Array(1));
    }
    for (const type of ["u1", "|u1", "<u1", ">u1", "=u1"]) {
      const header = `{'descr': '${type}', 'fortran_order': False, 'shape': (3,)}`;
      expect(parseNpy(withHeader(header, 3)).dtype).toBe("|u1");
    }
  });

  test("junk is refused with a reason", () => {
    const shape = (text: string) => `{'descr': '<f4', 'fortran_order': False, 'shape': ${text}}`;
    const cases = [
      "",
      "{",
      "{}",
      "[]",
      `${good} x`,
      `${good}{}`,
      good.replace("(1,)", "(1)"),
      shape("(1 2)"),
      shape("(-1,)"),
      shape("(1.5,)"),
      shape("('a',)"),
      shape("(1e3,)"),
      shape("1"),
      shape("(9007199254740993,)"),
      shape("(4294967296, 4294967296, 4294967296)"),
      shape("(99999999999999999999999999999,)"),
      shape(`(${"1, ".repeat(33)})`),
      "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': (1,)}",
      "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
      "{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}",
      "{'descr': __import__('os').system('x'), 'fortran_order': False, 'shape': (1,)}",
    ];
    const reasons = cases.map((header) => refusal(withHeader(header, 4)));
    expect(reasons.join("\n")).toMatchInlineSnapshot(`
      "The header ends too early
      The header ends too early
      The header must give descr, fortran_order and shape, and nothing else
      The header has [ where { belongs
      The header cannot be read at character 57
      The header goes on after its closing brace
      The header's shape is not a tuple
      The header's shape is not a tuple
      The header cannot be read at character 51
      The header cannot be read at character 52
      The header has 'a' in "shape"
      The header cannot be read at character 52
      The header has 1 where a string belongs
      An axis of 9007199254740993 is too long
      Shape [4294967296, 4294967296, 4294967296] of "<f4" does not fit the 4 bytes of data
      An axis of 99999999999999999999999999999 is too long
      The array has more than 32 axes
      The header gives "descr" twice
      The header must give descr, fortran_order and shape, and nothing else
      The header has 0 where a string belongs
      The header lacks a comma
      The header cannot be read at character 9"
    `);
  });

  test("sizes that the file does not hold are never allocated", () => {
    refusal(withHeader("{'descr': '|u1', 'fortran_order': False, 'shape': (1000000000000,)}", 8));
    const header = withHeader("", 0, 2);
    header.set([0xff, 0xff, 0xff, 0xff], 8);
    expect(refusal(header)).toContain("4294967295");
  });

  test("a shape that does not hold the values cannot be written", () => {
    expect(() => writeNpy(new Float32Array(3), [2])).toThrow(RangeError);
    expect(() => writeNpy(new Float32Array(3), [])).toThrow(RangeError);
  });
});
