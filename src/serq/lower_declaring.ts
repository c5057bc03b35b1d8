/** Declarations under way: constants so far, names taken, families laid out one after the other. */
import type { DefNode, ExprNode, Name } from "./ast.ts";
import { placeText, type Span } from "./diagnostic.ts";
import { linkError, parseError } from "./messages.ts";
import { fold } from "./lower_constants.ts";
import { type Env, type Family, FAMILY_MAX, type Tables } from "./lower_context.ts";
import { MOMENTS } from "./lower_moments.ts";
import { SUPPLIED } from "./tokens.ts";

/** What a program is given from outside. */
export interface Inputs {
  /** Values for `args.number` inputs, by the input's name. */
  readonly values: ReadonlyMap<string, number>;
  /** Other bodies for definitions of expressions, parsed, by name. */
  readonly definitions: ReadonlyMap<string, ExprNode>;
  /** Text of a library next to the program, or null where there is none. */
  readonly library: (path: string, from: string) => { text: string; name: string } | null;
  /** Parses a library; passed in so that lowering does not know the parser. */
  readonly parseLibrary: (
    text: string,
    name: string,
  ) => readonly (DefNode | { kind: "use"; path: string; at: Span })[];
}

/** Declarations under way. */
export class Declaring {
  readonly tables: Tables;
  readonly inputs: Inputs;
  readonly constants: Map<string, number> = new Map();
  readonly constantAt: Map<string, Span> = new Map();
  readonly orders: Map<object, number> = new Map();
  readonly names: Map<string, { what: string; at: Span }> = new Map();
  readonly used: Set<string> = new Set();
  readonly given: Set<string> = new Set();
  usesArgs = false;
  order = 0;

  constructor(tables: Tables, inputs: Inputs) {
    this.tables = tables;
    this.inputs = inputs;
  }

  env(): Env {
    const { constants, order } = this;
    const locals = new Map();
    const rest = { queue: null, engine: null, depth: 0 } as const;
    return {
      moment: MOMENTS.constant,
      side: "Server",
      place: "declaration",
      locals,
      constants,
      order,
      ...rest,
    };
  }

  /** Remembers the surroundings of an item for the second pass. */
  mark(item: object): void {
    this.orders.set(item, this.order);
  }

  /** Everything declared shares one name space. */
  declare(name: Name, what: string): void {
    if (SUPPLIED.has(name.text)) throw linkError("supplied_name", name.at, name.text, `a ${what}`);
    const before = this.names.get(name.text);
    if (before !== undefined) {
      const place = placeText(before.at);
      if (before.what === what) throw linkError("duplicate", name.at, what, name.text, place);
      throw parseError("two_meanings", name.at, name.text, before.what, place, what);
    }
    this.names.set(name.text, { what, at: name.at });
  }

  /** The size of a family; null: a single one. */
  count(node: ExprNode | null): number | null {
    if (node === null) return null;
    const value = fold(this.tables.lowerExpr(node, this.env()));
    if (value === null || !Number.isInteger(value) || value < 1) {
      throw parseError("array_size", node.at, value);
    }
    if (value > FAMILY_MAX) throw parseError("array_large", node.at, value, FAMILY_MAX);
    return value;
  }

  family(
    kind: Family["kind"],
    name: string,
    count: number | null,
    at: Span,
    queue: string | null = null,
  ): Family {
    const { tables } = this;
    const list = kind === "pool" ? tables.pools : tables.stages;
    const [size, many, base] = [count ?? 1, count !== null, list.length];
    for (let k = 0; k < size; k += 1) {
      const index = many ? { index: k } : {};
      if (kind === "pool") {
        const rest = { block: null, queue: null, spill: null, admit_via: null } as const;
        tables.pools.push({ name, ...index, cap: "inf", evict: "Lru", preempt: "None", ...rest });
      } else tables.stages.push({ name, ...index, kind: { Fifo: 1 } });
    }
    const family: Family = { kind, name, base, count: size, many, at, queue, order: this.order };
    tables.families.set(name, family);
    if (kind === "stage") tables.stageFamilies.push(family);
    return family;
  }
}
