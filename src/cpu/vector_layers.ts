/**
 * Vector forms of the common elementwise layers, four elements at once: the same operations in the same
 * order as the layer's twin in src/layers, with the mode's branches taken when the code is written.
 * Layers without a form run their twin; the contract suite holds both to the same bits.
 */
import {
  layerNamed,
  MODE_CLAMP,
  MODE_CUBA_OLD,
  MODE_GE,
  MODE_JOIN_FIRST,
  MODE_RESET_NEXT,
  MODE_RESET_NONE,
  MODE_RESET_SUBTRACT,
} from "../layers/mod.ts";
import type { PointwiseOp } from "../model/plan.ts";
import { appendEvents, entries, snap } from "./vector_code.ts";
import {
  advance,
  type Code,
  count,
  FunctionWriter,
  int,
  type Local,
  set,
  vec,
  type Written,
} from "../base/wasm_writer.ts";

const { add, sub, mul } = vec;

type Writer = FunctionWriter<"x" | "y" | "state" | "coef" | "events">;

/** What the steps of a node's elements have in common. */
interface Elements {
  readonly f: Writer;
  readonly mode: number;
  /** Bytes between arrays of state, and of coefficients. */
  readonly stride: number;
  /** Coefficients that are the same for all elements; NaN for others. */
  readonly shared: readonly number[];
}

/** One step of four elements, in the making. */
class Body {
  readonly f: Writer;
  readonly #elements: Elements;
  /** Bytes from where the arguments point. */
  readonly #at: number;
  readonly #code: number[] = [];
  readonly #coefs: Code[] = [];
  /** What comes in. */
  readonly x: Code;

  constructor(elements: Elements, at: number) {
    this.f = elements.f;
    this.#elements = elements;
    this.#at = at;
    this.x = this.keep(vec.load(this.f.arg.x.get, at));
  }

  get code(): Code {
    return this.#code;
  }

  has(bit: number): boolean {
    return (this.#elements.mode & bit) !== 0;
  }

  /** Computes a value once. */
  keep(value: Code): Code {
    return this.#keep(value).get;
  }

  /** A value that is stored or leaves: below 1e-30 it is +0. */
  snapped(value: Code): Code {
    return this.keep(snap(this.f, this.#keep(value)));
  }

  coef(k: number): Code {
    const { shared, stride } = this.#elements;
    const value = shared[k]!;
    return this.#coefs[k] ??= Number.isNaN(value)
      ? this.keep(vec.load(this.f.arg.coef.get, this.#at + k * stride))
      : this.f.constant(value);
  }

  state(k: number): Code {
    return this.keep(vec.load(this.f.arg.state.get, this.#at + k * this.#elements.stride));
  }

  setState(k: number, value: Code): void {
    const { stride } = this.#elements;
    this.#code.push(...vec.store(this.f.arg.state.get, value, this.#at + k * stride));
  }

  /** Stores what leaves. */
  give(value: Code): void {
    this.#code.push(...vec.store(this.f.arg.y.get, value, this.#at));
  }

  #keep(value: Code): Local {
    const local = this.f.vec();
    this.#code.push(...set(local, value));
    return local;
  }
}

/** Twins of src/layers/fire.ts; masks for booleans. */
function fire(b: Body, v: Code, threshold: Code): Code {
  return b.keep(b.has(MODE_GE) ? vec.atLeast(v, threshold) : vec.more(v, threshold));
}

function afterFire(b: Body, v: Code, threshold: Code, reset: Code): Code {
  if (b.has(MODE_RESET_NONE | MODE_RESET_NEXT)) return v;
  return b.has(MODE_RESET_SUBTRACT) ? b.snapped(sub(v, threshold)) : reset;
}

function lateReset(b: Body, v: Code, before: Code, threshold: Code): Code {
  if (!b.has(MODE_RESET_NEXT)) return v;
  const late = fire(b, before, threshold);
  return b.keep(vec.select(late, b.snapped(sub(v, threshold)), v));
}

function clampBelow(b: Body, v: Code, threshold: Code): Code {
  if (!b.has(MODE_CLAMP)) return v;
  const above = b.keep(add(v, threshold));
  const kept = vec.and(above, vec.more(above, b.f.constant(0)));
  return b.snapped(sub(kept, threshold));
}

/** Fires, resets, and stores the membrane as field `k`; the spikes as a mask. */
function spike(
  b: Body,
  k: number,
  v: Code,
  threshold: Code,
  reset: Code,
  bound = (after: Code): Code => after,
): Code {
  const fired = fire(b, v, threshold);
  const after = b.keep(vec.select(fired, afterFire(b, v, threshold, reset), v));
  b.setState(k, bound(after));
  return fired;
}

function stored(b: Body, k: number, value: Code): Code {
  const v = b.snapped(value);
  b.setState(k, v);
  return v;
}

/** Current and membrane of a Cuba neuron; the membrane before any reset. */
function advanceCuba(b: Body): Code {
  const before = b.state(0);
  const jump = b.keep(mul(b.coef(1), b.x));
  const i = stored(
    b,
    0,
    b.has(MODE_JOIN_FIRST) ? mul(b.coef(0), add(before, jump)) : add(mul(b.coef(0), before), jump),
  );
  const drive = b.has(MODE_CUBA_OLD) ? before : i;
  return b.snapped(
    add(add(mul(b.coef(2), b.state(1)), mul(b.coef(3), drive)), b.coef(4)),
  );
}

/** What leaves: the values, or for spiking layers the mask. */
const FORMS: Readonly<Record<string, (b: Body) => Code>> = {
  lif(b) {
    const before = b.state(0);
    const decayed = b.snapped(
      add(add(mul(b.coef(0), before), mul(b.coef(1), b.x)), b.coef(2)),
    );
    const v = lateReset(b, decayed, before, b.coef(3));
    return spike(b, 0, v, b.coef(3), b.coef(4));
  },
  li: (b) => stored(b, 0, add(add(mul(b.coef(0), b.state(0)), mul(b.coef(1), b.x)), b.coef(2))),
  if(b) {
    const before = b.state(0);
    const v = lateReset(b, b.snapped(add(before, mul(b.coef(0), b.x))), before, b.coef(1));
    return spike(b, 0, v, b.coef(1), b.coef(2), (after) => clampBelow(b, after, b.coef(1)));
  },
  integrator: (b) => stored(b, 0, add(b.state(0), mul(b.coef(0), b.x))),
  cuba_lif(b) {
    const before = b.state(1);
    const v = lateReset(b, advanceCuba(b), before, b.coef(5));
    return spike(b, 1, v, b.coef(5), b.coef(6));
  },
  cuba_li(b) {
    const v = advanceCuba(b);
    b.setState(1, v);
    return v;
  },
  lif_box(b) {
    const before = b.state(0);
    const drive = sub(add(b.x, b.coef(1)), before);
    const moved = b.snapped(add(before, mul(b.coef(0), drive)));
    const v = lateReset(b, moved, before, b.coef(2));
    return spike(b, 0, v, b.coef(2), b.coef(3));
  },
  li_box(b) {
    const before = b.state(0);
    return stored(b, 0, add(before, mul(b.coef(0), add(sub(b.coef(1), before), b.x))));
  },
  cuba_lif_box(b) {
    const [old, before] = [b.state(0), b.state(1)];
    const jump = add(sub(b.coef(4), old), mul(b.coef(1), b.x));
    const i = stored(b, 0, add(old, mul(b.coef(0), jump)));
    const current = mul(b.coef(3), b.has(MODE_CUBA_OLD) ? old : i);
    const drive = sub(add(current, b.coef(4)), before);
    const moved = b.snapped(add(before, mul(b.coef(2), drive)));
    const v = lateReset(b, moved, before, b.coef(5));
    return spike(b, 1, v, b.coef(5), b.coef(6));
  },
  threshold: (b) => fire(b, b.x, b.coef(0)),
  scale: (b) => b.snapped(mul(b.coef(0), b.x)),
  norm: (b) => b.snapped(add(mul(b.coef(0), b.x), b.coef(1))),
  identity: (b) => b.snapped(b.x),
};

/** Elements whose spikes are listed together, as bits of one word. */
const LISTED = 32;

/**
 * `(x, y, state, coef, events)` for a node of `size` elements; arrays of state and of coefficients are
 * filled up to whole fours. Spiking layers list their spikes and return how many; others return 0. Null
 * where the layer has no vector form.
 */
export function writeLayer(
  name: string,
  { layer, mode, coefficients }: PointwiseOp,
  size: number,
): Written | null {
  const form = FORMS[layer];
  if (form === undefined) return null;
  const f: Writer = new FunctionWriter(["x", "y", "state", "coef", "events"]);
  const { x, y, state, coef, events } = f.arg;
  const [i, out, bits] = [f.int(), f.int(), f.int()];
  const shared = Array.from(
    { length: coefficients.length / size },
    (_, k) => theSame(coefficients.subarray(k * size, (k + 1) * size)),
  );
  const elements: Elements = { f, mode, stride: Math.ceil(size / 4) * 16, shared };
  const isSpike = layerNamed(layer).emits === "spike";
  const four = (k: number): { code: Code; fired: Code } => {
    const body = new Body(elements, 16 * k);
    const leaving = body.keep(form(body));
    body.give(isSpike ? vec.and(leaving, f.constant(1)) : leaving);
    return { code: body.code, fired: leaving };
  };
  const part = (count: number): Code => {
    const fours = Array.from({ length: Math.ceil(count / 4) }, (_, k) => four(k));
    const code = fours.flatMap((each) => each.code);
    if (!isSpike) return code;
    const fired = (k: number): Code => fours[k]?.fired ?? f.constant(0);
    const half = (k: number): Code =>
      vec.bits16(fired(k), fired(k + 1), fired(k + 2), fired(k + 3));
    const all = fours.length > 4 ? int.or(half(0), int.shiftLeft(half(4), int.of(16))) : half(0);
    // What fills up the last four is not the node's.
    const own = count === LISTED ? all : int.and(all, int.of(2 ** count - 1));
    return [...code, ...set(bits, own), ...appendEvents(f, bits, i.get, out)];
  };
  const whole = size - size % LISTED;
  const code: Code = [
    ...set(out, events.get),
    ...count(i, int.of(0), int.of(whole), LISTED, [
      ...part(LISTED),
      ...[x, y, state, coef].flatMap((each) => advance(each, int.of(LISTED * 4))),
    ]),
    ...(size > whole ? part(size - whole) : []),
  ];
  return f.end(name, code, entries(out, events));
}

/** The value that all have; NaN where they differ. */
function theSame(values: Float32Array): number {
  const [first] = values;
  return values.every((value) => Object.is(value, first)) ? first! : NaN;
}
