/**
 * The first pass: every declaration gets its name, its place among pools and stages, and its size, in
 * the order of the text. What they are made of is filled in by the second pass (lower_define.ts).
 */
import type { DefNode, Item, LetNode, Name, ProgramNode } from "./ast.ts";
import { assert } from "../base/assert.ts";
import { closest } from "../base/closest.ts";
import { placeText, type Span } from "./diagnostic.ts";
import { argumentError, linkError, parseError } from "./messages.ts";
import { fold } from "./lower_constants.ts";
import type { Declaring } from "./lower_declaring.ts";
import { declareDevice, declareEngine, declarePool } from "./lower_hosts.ts";
import { declareQueue, declareRelation } from "./lower_queues.ts";
import { DISTRIBUTIONS, FUNCTIONS, SUPPLIED } from "./tokens.ts";

export function declareProgram(declaring: Declaring, program: ProgramNode): void {
  for (const item of [...program.before, ...program.items]) {
    declaring.order += 1;
    declaring.mark(item);
    declareItem(declaring, item);
  }
  for (const name of declaring.inputs.definitions.keys()) {
    const found = declaring.tables.defs.get(name)?.node.body.kind === "expression";
    const names = declaring.tables.defs.keys();
    if (!found) throw argumentError("unknown_definition", name, closest(name, names));
  }
  for (const name of declaring.inputs.values.keys()) {
    if (!declaring.given.has(name)) {
      throw argumentError("unknown_argument", name, closest(name, declaring.given));
    }
  }
}

function declareItem(declaring: Declaring, item: Item): void {
  switch (item.kind) {
    case "use":
      return declareUse(declaring, item);
    case "def":
      return declareDef(declaring, item);
    case "let":
      return declareLet(declaring, item);
    case "argument":
      return declareArgument(declaring, item);
    case "pool":
      return void declarePool(declaring, item, null);
    case "stage":
      declaring.declare(item.name, "stage");
      declaring.family("stage", item.name.text, declaring.count(item.count), item.name.at);
      return;
    case "device":
      return void declareDevice(declaring, item, null);
    case "engine":
      declaring.declare(item.name, "engine");
      return declareEngine(declaring, item, null);
    case "queue":
      return declareQueue(declaring, item);
    case "relation":
      return declareRelation(declaring, item);
    case "share":
    case "workload":
    case "server":
    case "gauge":
    case "claim":
      return;
  }
}

function declareUse(declaring: Declaring, item: { path: string; at: Span }): void {
  if (item.path === "std/args") {
    declaring.usesArgs = true;
    return;
  }
  if (item.path.startsWith("std/")) {
    const help = '`use "std/args";` is; for NICs write `D pull P latency x share maxmin;`';
    throw parseError("unsupported", item.at, `the library "${item.path}"`, help);
  }
  const found = declaring.inputs.library(item.path, item.at.source.name);
  if (found === null) throw parseError("library_missing", item.at, item.path);
  if (declaring.used.has(found.name)) return;
  declaring.used.add(found.name);
  for (const each of declaring.inputs.parseLibrary(found.text, found.name)) {
    if (each.kind === "use") declareUse(declaring, each);
    else declareDef(declaring, each);
  }
}

function declareDef(declaring: Declaring, node: DefNode): void {
  const { name, params } = node;
  if (FUNCTIONS.includes(name.text) || DISTRIBUTIONS.includes(name.text)) {
    throw parseError("def_named_function", name.at, name.text);
  }
  if (declaring.constants.has(name.text)) {
    const place = placeText(declaring.constantAt.get(name.text)!);
    throw parseError("two_meanings", name.at, name.text, "constant", place, "definition");
  }
  declaring.declare(name, "definition");
  params.forEach((param, i) => {
    if (params.findIndex(({ text }) => text === param.text) < i) {
      throw parseError("parameter_twice", param.at, name.text, param.text);
    }
  });
  const bound = namesBound(node.body);
  const assigned = params.find(({ text }) => bound.has(text));
  if (assigned !== undefined) {
    throw parseError("parameter_assigned", assigned.at, name.text, assigned.text);
  }
  if (mentionsCall(node.body, name.text)) throw parseError("def_recursive", name.at);
  for (const [earlier, { node: other }] of declaring.tables.defs) {
    if (mentionsCall(other.body, name.text)) {
      throw parseError("def_later", other.name.at, earlier, name.text);
    }
  }
  const other = declaring.inputs.definitions.get(name.text);
  const body = other === undefined || node.body.kind !== "expression"
    ? node.body
    : { ...node.body, value: other };
  declaring.tables.defs.set(name.text, { node: { ...node, body }, order: declaring.order });
}

/** What a body assigns, observes or binds: with a parameter's name it would be another thing. */
function namesBound(body: unknown): ReadonlySet<string> {
  const names = new Set<string>();
  JSON.stringify(body, (key, value: unknown) => {
    if (key === "at") return undefined;
    const { kind, name, variable, bindings = [] } = (value ?? {}) as {
      kind?: string;
      name?: Name;
      variable?: Name;
      bindings?: readonly { readonly name: Name }[];
    };
    const assigns = ["set", "observe", "choose", "record"].includes(kind ?? "");
    const bound = [assigns ? name : undefined, variable, ...bindings.map((each) => each.name)];
    for (const each of bound) if (each !== undefined) names.add(each.text);
    return value;
  });
  return names;
}

function mentionsCall(body: unknown, name: string): boolean {
  let found = false;
  JSON.stringify(body, (key, value: unknown) => {
    if (key === "at") return undefined;
    const { kind, name: called } = (value ?? {}) as { kind?: string; name?: Name };
    if ((kind === "call" || kind === "expand") && called?.text === name) found = true;
    return value;
  });
  return found;
}

function declareLet(declaring: Declaring, { name, value }: LetNode): void {
  nameConstant(declaring, name);
  const folded = fold(declaring.tables.lowerExpr(value, declaring.env()));
  assert(folded !== null, "a constant reads nothing that moves");
  if (Number.isNaN(folded)) throw linkError("constant_nan", value.at, `\`let ${name.text}\``);
  declaring.constants.set(name.text, folded);
}

function nameConstant(declaring: Declaring, name: Name): void {
  if (SUPPLIED.has(name.text)) throw linkError("supplied_name", name.at, name.text, "a constant");
  const before = declaring.names.get(name.text);
  if (before !== undefined) {
    const place = placeText(before.at);
    throw parseError("two_meanings", name.at, name.text, before.what, place, "constant");
  }
  declaring.constantAt.set(name.text, name.at);
}

function declareArgument(declaring: Declaring, item: Extract<Item, { kind: "argument" }>): void {
  if (!declaring.usesArgs) throw parseError("args_without_use", item.at);
  nameConstant(declaring, item.name);
  if (declaring.given.has(item.input)) throw parseError("input_twice", item.inputAt, item.input);
  declaring.given.add(item.input);
  const preset = fold(declaring.tables.lowerExpr(item.value, declaring.env()));
  assert(preset !== null, "a constant reads nothing that moves");
  if (Number.isNaN(preset)) throw linkError("constant_nan", item.value.at, `"${item.input}"`);
  declaring.constants.set(item.name.text, declaring.inputs.values.get(item.input) ?? preset);
}
