/**
 * Vector forms of the common elementwise layers, four elements at once: the same operations in the same
 * order as the layer's twin in src/layers, with the mode's branches taken when the code is written.
 * Layers without a form run their twin; the contract suite holds both to the same bits.
 */
import {
  MODE_CLAMP,
  MODE_CUBA_OLD,
  MODE_GE,
  MODE_JOIN_FIRST,
  MODE_RESET_NEXT,
  MODE_RESET_NONE,
  MODE_RESET_SUBTRACT,
  type PointwiseLayer,
} from "../layers/mod.ts";
import { appendEvents, entries, snap } from "./vector_code.ts";
import {
  type Code,
  count,
  FunctionWriter,
  int,
  type Local,
  set,
  vec,
  type Written,
} from "./wasm_writer.ts";

const { add, sub, mul } = vec;

/** One step of four elements, in the making. */
class Body {
  readonly mode: number;
  readonly #newLocal: () => Local;
  readonly #field: (k: number) => Code;
  readonly #coefficient: (k: number) => Code;
  readonly #code: number[] = [];
  readonly #coefs: Code[] = [];
  /** What comes in. */
  readonly x: Code;

  constructor(parts: {
    readonly mode: number;
    readonly x: Code;
    readonly newLocal: () => Local;
    readonly field: (k: number) => Code;
    readonly coefficient: (k: number) => Code;
  }) {
    this.mode = parts.mode;
    this.#newLocal = parts.newLocal;
    this.#field = parts.field;
    this.#coefficient = parts.coefficient;
    this.x = this.keep(parts.x);
  }

  get code(): Code {
    return this.#code;
  }

  has(bit: number): boolean {
    return (this.mode & bit) !== 0;
  }

  /** Computes a value once. */
  keep(value: Code): Code {
    return this.#keep(value).get;
  }

  /** A value that is stored or leaves: below 1e-30 it is +0. */
  snapped(value: Code): Code {
    return this.keep(snap(this.#keep(value)));
  }

  coef(k: number): Code {
    return this.#coefs[k] ??= this.keep(vec.load(this.#coefficient(k)));
  }

  state(k: number): Code {
    return this.keep(vec.load(this.#field(k)));
  }

  setState(k: number, value: Code): void {
    this.#code.push(...vec.store(this.#field(k), value));
  }

  #keep(value: Code): Local {
    const local = this.#newLocal();
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
  const kept = vec.and(above, vec.more(above, vec.of(0)));
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

/**
 * `(x, y, state, coef, stride, size, events)` over `size` fours; arrays of `state` and `coef` lie
 * `stride` bytes apart. Spiking layers list their spikes and return how many; others return 0. Null
 * where the layer has no vector form.
 */
export function writeLayer(name: string, layer: PointwiseLayer, mode: number): Written | null {
  const form = FORMS[layer.name];
  if (form === undefined) return null;
  const f = new FunctionWriter(["x", "y", "state", "coef", "stride", "size", "events"]);
  const { x, y, state, coef, stride, size, events } = f.arg;
  const [at, end, out, bits] = [f.int(), f.int(), f.int(), f.int()];
  const place = (array: Local, k: number): Code =>
    int.add(int.add(array.get, at.get), int.mul(stride.get, int.of(k)));
  const body = new Body({
    mode,
    x: vec.load(int.add(x.get, at.get)),
    newLocal: () => f.vec(),
    field: (k) => place(state, k),
    coefficient: (k) => place(coef, k),
  });
  const leaving = body.keep(form(body));
  const isSpike = layer.emits === "spike";
  const loop: Code = [
    ...body.code,
    ...vec.store(int.add(y.get, at.get), isSpike ? vec.and(leaving, vec.of(1)) : leaving),
    ...(isSpike
      ? [
        ...set(bits, vec.bits(leaving)),
        ...appendEvents(bits, int.divide(at.get, int.of(4)), out),
      ]
      : []),
  ];
  const code: Code = [
    ...set(out, events.get),
    ...set(end, int.shiftLeft(size.get, int.of(4))),
    ...count(at, int.of(0), end.get, 16, loop),
  ];
  return f.end(name, code, entries(out, events));
}
