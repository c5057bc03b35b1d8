/**
 * Writes WebAssembly modules: just the instructions that its users need, each a function from
 * code to code. Code is bytes; an expression leaves one value, a statement none. Every module imports
 * its memory, and every function takes i32 parameters.
 */

export type Code = readonly number[];

/** A local of a function, read by its code. */
export interface Local {
  readonly index: number;
  readonly get: Code;
}

const I32 = 0x7f;
const V128 = 0x7b;
const NONE = 0x40;

function unsigned(value: number): number[] {
  const bytes: number[] = [];
  do {
    const low = value % 128;
    value = Math.floor(value / 128);
    bytes.push(value > 0 ? low | 0x80 : low);
  } while (value > 0);
  return bytes;
}

function signed(value: number): number[] {
  const bytes: number[] = [];
  for (;;) {
    const low = value & 0x7f;
    value >>= 7;
    const isLast = (value === 0 && (low & 0x40) === 0) || (value === -1 && (low & 0x40) !== 0);
    bytes.push(isLast ? low : low | 0x80);
    if (isLast) return bytes;
  }
}

const vector = (opcode: number): number[] => [0xfd, ...unsigned(opcode)];
const one = (...opcode: number[]) => (a: Code): Code => [...a, ...opcode];
const two = (...opcode: number[]) => (a: Code, b: Code): Code => [...a, ...b, ...opcode];

export const int = {
  of: (value: number): Code => [0x41, ...signed(value)],
  add: two(0x6a),
  sub: two(0x6b),
  mul: two(0x6c),
  divide: two(0x6e),
  rest: two(0x70),
  and: two(0x71),
  or: two(0x72),
  xor: two(0x73),
  shiftLeft: two(0x74),
  shiftRight: two(0x76), // unsigned
  isZero: one(0x45),
  less: two(0x49), // unsigned
  trailingZeros: one(0x68),
  ones: one(0x69),
  load: (at: Code, offset = 0): Code => [...at, 0x28, 2, ...unsigned(offset)],
  store: (at: Code, value: Code, offset = 0): Code => [
    ...at,
    ...value,
    0x36,
    2,
    ...unsigned(offset),
  ],
};

/** Sets `bytes` bytes to zero. */
export const clear = (at: Code, bytes: number): Code => [
  ...at,
  ...int.of(0),
  ...int.of(bytes),
  ...[0xfc, 0x0b, 0],
];

export const copy = (to: Code, from: Code, bytes: Code): Code => [
  ...to,
  ...from,
  ...bytes,
  ...[0xfc, 0x0a, 0, 0],
];

/** Four f32 at once. Comparisons give masks; `bits` and the narrowing are for masks. */
export const vec = {
  load: (at: Code, offset = 0): Code => [...at, ...vector(0x00), 0, ...unsigned(offset)],
  /** One f32, four times. */
  loadSplat: (at: Code): Code => [...at, ...vector(0x09), 2, 0],
  store: (at: Code, value: Code, offset = 0): Code => [
    ...at,
    ...value,
    ...vector(0x0b),
    0,
    ...unsigned(offset),
  ],
  storeLane: (at: Code, value: Code, lane: number): Code => [
    ...at,
    ...value,
    ...vector(0x5a),
    2,
    0,
    lane,
  ],
  of: (value: number): Code => {
    const bytes = new Uint8Array(new Float32Array([value, value, value, value]).buffer);
    return [...vector(0x0c), ...bytes];
  },
  equal: two(...vector(0x41)),
  notEqual: two(...vector(0x42)),
  less: two(...vector(0x43)),
  more: two(...vector(0x44)),
  atLeast: two(...vector(0x46)),
  and: two(...vector(0x4e)),
  /** a where the mask b is not set. */
  andNot: two(...vector(0x4f)),
  or: two(...vector(0x50)),
  /** a where the mask is set, else b. */
  select: (mask: Code, a: Code, b: Code): Code => [...a, ...b, ...mask, ...vector(0x52)],
  any: one(...vector(0x53)),
  abs: one(...vector(0xe0)),
  add: two(...vector(0xe4)),
  sub: two(...vector(0xe5)),
  mul: two(...vector(0xe6)),
  /** A mask of four as an i32 of 4 bits. */
  bits: one(...vector(0xa4)),
  /** Four masks of four as an i32 of 16 bits. */
  bits16: (a: Code, b: Code, c: Code, d: Code): Code => {
    const narrow = two(...vector(0x85));
    return [...narrow(a, b), ...narrow(c, d), ...vector(0x65), ...vector(0x64)];
  },
};

export const set = ({ index }: Local, value: Code): Code => [...value, 0x21, ...unsigned(index)];

/** `if (condition) { body }`. */
export const when = (
  condition: Code,
  body: Code,
): Code => [...condition, 0x04, NONE, ...body, 0x0b];

/** `if (condition) { body } else { other }`. */
export const either = (condition: Code, body: Code, other: Code): Code => [
  ...condition,
  ...[0x04, NONE],
  ...body,
  0x05,
  ...other,
  0x0b,
];

/** Calls a function of the module by its place there. */
export const call = (index: number, ...args: readonly Code[]): Code => [
  ...args.flat(),
  0x10,
  ...unsigned(index),
];

/** Leaves a value unused. */
export const drop = (value: Code): Code => [...value, 0x1a];

/** `while (condition) { body }`. */
export const repeat = (condition: Code, body: Code): Code => [
  ...[0x02, NONE, 0x03, NONE], // block, loop
  ...int.isZero(condition),
  ...[0x0d, 1], // leave the block
  ...body,
  ...[0x0c, 0, 0x0b, 0x0b], // back to the loop
];

/** `do { body } while (condition)`. */
export const atLeastOnce = (body: Code, condition: Code): Code => [
  ...[0x03, NONE],
  ...body,
  ...condition,
  ...[0x0d, 0, 0x0b],
];

/** `for (local = from; local < to; local += by) { body }`, unsigned. */
export const count = (local: Local, from: Code, to: Code, by: number, body: Code): Code => [
  ...set(local, from),
  ...repeat(int.less(local.get, to), [...body, ...advance(local, int.of(by))]),
];

export const advance = (local: Local, by: Code): Code => set(local, int.add(local.get, by));

export interface Written {
  readonly name: string;
  readonly parameters: number;
  readonly locals: readonly number[];
  readonly body: Code;
}

/** A function in the making. Its result is an i32. */
export class FunctionWriter<Name extends string> {
  /** By name, in the order of the call. */
  readonly arg: Readonly<Record<Name, Local>>;
  readonly #parameters: number;
  readonly #locals: number[] = [];
  readonly #constants: { readonly value: number; readonly local: Local }[] = [];

  constructor(parameters: readonly Name[]) {
    this.#parameters = parameters.length;
    this.arg = Object.fromEntries(
      parameters.map((name, index) => [name, localAt(index)]),
    ) as unknown as Record<Name, Local>;
  }

  int(): Local {
    return this.#local(I32);
  }

  vec(): Local {
    return this.#local(V128);
  }

  /** A number four times, made once where the function begins: runtimes make it anew at every use. */
  constant(value: number): Code {
    const known = this.#constants.find((each) => Object.is(each.value, value));
    if (known !== undefined) return known.local.get;
    const local = this.vec();
    this.#constants.push({ value, local });
    return local.get;
  }

  /** `result` is an i32. */
  end(name: string, body: Code, result: Code): Written {
    const constants = this.#constants.flatMap(({ value, local }) => set(local, vec.of(value)));
    return {
      name,
      parameters: this.#parameters,
      locals: this.#locals,
      body: [...constants, ...body, ...result],
    };
  }

  #local(type: number): Local {
    return localAt(this.#parameters + this.#locals.push(type) - 1);
  }
}

function localAt(index: number): Local {
  return { index, get: [0x20, ...unsigned(index)] };
}

/** The bytes of a module with these functions exported, which imports `host.memory` of `pages`. */
export function writeModule(
  functions: readonly Written[],
  { pages, shared }: { readonly pages: number; readonly shared: boolean },
): Uint8Array<ArrayBuffer> {
  const list = (items: readonly Code[]): number[] => [...unsigned(items.length), ...items.flat()];
  const text = (value: string): number[] => {
    const bytes = [...new TextEncoder().encode(value)];
    return [...unsigned(bytes.length), ...bytes];
  };
  const section = (id: number, content: Code): number[] => [
    id,
    ...unsigned(content.length),
    ...content,
  ];
  const types = functions.map(({ parameters }) => [
    0x60,
    ...list(new Array<Code>(parameters).fill([I32])),
    ...list([[I32]]),
  ]);
  const limits = [shared ? 3 : 1, ...unsigned(pages), ...unsigned(pages)];
  const bodies = functions.map(({ locals, body }) => {
    const code = [...list(locals.map((type) => [1, type])), ...body, 0x0b];
    return [...unsigned(code.length), ...code];
  });
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, list(types)),
    ...section(2, list([[...text("host"), ...text("memory"), 0x02, ...limits]])),
    ...section(3, list(functions.map((_, index) => unsigned(index)))),
    ...section(7, list(functions.map(({ name }, index) => [...text(name), 0, ...unsigned(index)]))),
    ...section(10, list(bodies)),
  ]);
}
