/** Texts for what a program's text says wrongly. Help says what to write instead. */
import type { Message } from "./diagnostic.ts";

type Near = string | undefined;

const say = (text: string, help?: string): Message => ({ text, help });
const near = (text: string, word: Near, help?: string): Message =>
  say(text, word === undefined ? help : `did you mean \`${word}\`?`);

export const PARSE = {
  // Characters and tokens
  unexpected_character: (c: string) => say(`unexpected character \`${c}\``),
  unterminated_comment: () => say("unterminated block comment", "close this comment with `*/`"),
  unterminated_string: () => say("unterminated string", 'close this text with `"`'),
  bad_number: (text: string) =>
    say(`bad number \`${text}\``, "a number has one point: `1.5`, `2e3`"),
  too_many_tokens: () => say("the program has more than 100000 tokens"),
  too_deep: (max: number) => say(`nested deeper than ${max} levels`, "name parts with `def`"),
  too_many_terms: (max: number) => say(`more than ${max} terms in a row`, "name parts with `let`"),
  expected: (what: string, found: string) => say(`expected ${what}, found ${found}`),
  // The program as a whole
  outside_main: () =>
    say(
      "executable declarations belong inside `fn main() { … }`",
      "only `use`, `def` and `let` stand before it, and nothing after it",
    ),
  second_main: () => say("a program has exactly one `fn main()`"),
  settings_in_model: () =>
    say(
      "execution settings do not belong in a model",
      "give --horizon T, --warmup T and --seed N on the command line; a run is `run STAGE (work);`",
    ),
  belongs_in_workload: (word: string) =>
    say(
      `\`${word}\` belongs inside \`workload\``,
      "requests are handled in `server`, and `session { turn; }` in the workload takes turns",
    ),
  unknown_item: (word: string, n: Near) => near(`unknown declaration \`${word}\``, n),
  library_item: () => say("a library holds only `def` and `use`"),
  library_missing: (path: string) => say(`cannot read the library "${path}" next to this file`),
  instance_item: () => say("an instance holds `let NAME = number;` and one `run { … }`"),
  duplicate_workload: () => say("duplicate workload", "a program has one `workload`"),
  duplicate_server: () => say("duplicate server", "a program has one `server`"),
  workload_alone: () => say("a workload needs a `server` block to handle its turns"),
  server_alone: () => say("a server needs a `workload`, which gives it turns to handle"),
  unsupported: (what: string, help?: string) => say(`${what} is not supported`, help),
  later_spelling: (word: string, instead: string) =>
    say(`\`${word}\` is a later version's and not supported`, `write \`${instead}\``),
  // Names
  reserved_name: (name: string, what: string) =>
    say(`\`${name}\` is a word of the language; ${article(what)} needs another name`),
  retired_name: (name: string) => say(`\`${name}\` is a retired word and may name nothing`),
  two_meanings: (name: string, was: string, place: string, what: string) =>
    say(
      `\`${name}\` is ${article(was)} at ${place}; ${article(what)} named \`${name}\` would make ` +
        "the one word mean two things",
      "rename one of the two",
    ),
  array_size: (value: number | null) =>
    say(`array size must be a positive integer, found ${value ?? "no constant"}`),
  array_large: (value: number, max: number) => say(`${value} members are more than ${max}`),
  unknown_member: (base: string, member: string) =>
    say(
      `\`${base}.${member}\`: no entry of \`${base}\` marks or sets \`${member}\`, and no record has it`,
    ),
  unknown_queue_name: (queue: string, name: string, n: Near) =>
    near(`\`${queue}.${name}\`: no entry of \`${queue}\` marks or sets \`${name}\``, n),
  unknown_field: (record: string, field: string, n: Near) =>
    near(`record \`${record}\` has no field \`${field}\``, n),
  // Retired spellings
  retired_request: () =>
    say("`request` is replaced by `turn;`", "a turn draws its sizes and waits for the server"),
  retired_enter: () => say("`enter` is now `hold`", "write `hold P (units) { … } cache (units);`"),
  retired_admit: () =>
    say(
      "`admit` as a statement is now `hold`",
      "write `hold P (units) at admission (x = e) { … } cache (units);`",
    ),
  retired_keep: () => say("`keep` is now `cache`", "write `hold … { … } cache (units);`"),
  retired_where: (word: string) =>
    say(`\`${word}\` is now \`at admission\``, "write `hold P (x) at admission (x = e) { … }`"),
  retired_admit_via: () =>
    say(
      "`admit via` is now a pool on an engine",
      "write `NAME cap c;` in the engine and `pool NAME on ENGINE { … }`",
    ),
  retired_engine_item: (word: string, instead: string) =>
    say(`\`${word}\` is not an engine's any more`, `write \`${instead}\``),
  step_stage: () =>
    say(
      "a `step` stage is now an engine",
      "write `device D { }` and `engine NAME on D { tokens cap B; schedule { … } execute (time); }`",
    ),
  mode_as_statement: (mode: string) =>
    say(
      `\`${mode}\` is the mode of a run on an engine, not a statement`,
      `write \`run E ${mode} (cost(E, n));\``,
    ),
  // Definitions and arguments
  def_named_function: (name: string) => say(`\`${name}\` is a function of the language`),
  def_recursive: () => say("a definition that uses itself", "write a `loop` or a `while`"),
  def_arity: (name: string, wanted: number, got: number) =>
    say(`\`${name}\` takes ${wanted} argument(s), got ${got}`),
  def_as_expression: (name: string) =>
    say(`\`${name}\` is a definition of statements, not of an expression`, `write \`${name}(…);\``),
  def_as_statement: (name: string) =>
    say(`\`${name}\` is a definition of an expression, not of statements`),
  def_argument_draws: (name: string, param: string) =>
    say(
      `the argument for \`${param}\` draws, and \`${name}\` reads \`${param}\` more than once`,
      "`set` a name to the draw first",
    ),
  def_argument_captured: (name: string, param: string, read: string) =>
    say(
      `the argument for \`${param}\` reads \`${read}\`, which \`${name}\` assigns`,
      "it would read the new value; `set` another name first",
    ),
  def_argument_live: (name: string, read: string) =>
    say(
      `an argument of \`${name}\` reads \`${read}\`, which changes while its statements run`,
      "`set` a name to it first",
    ),
  def_later: (name: string, used: string) =>
    say(
      `\`${name}\` uses \`${used}\`, which is defined after it`,
      "a definition uses the ones before it",
    ),
  parameter_twice: (name: string, param: string) =>
    say(`\`${name}\` has two parameters \`${param}\``),
  parameter_assigned: (name: string, param: string) =>
    say(
      `\`${name}\` assigns or binds its parameter \`${param}\``,
      "give one of the two another name",
    ),
  args_without_use: () => say('`args.number` needs `use "std/args";` above it'),
  args_type: (word: string) =>
    say(`an input is a number, not \`${word}\``, '`args.number("name", 1)`'),
  args_whole: () => say("`args.number(…)` is the whole value of its `let`"),
  input_twice: (name: string) => say(`the input "${name}" is declared twice`),
  // Stages, devices and pools
  unknown_stage_kind: (word: string, n: Near) =>
    near(`unknown stage kind \`${word}\``, n, "a stage is `fifo`, `fifo (c)`, `ps (φ)` or `delay`"),
  latency_elsewhere: () => say("`latency` belongs to the `serve` of a queue that plays `link`"),
  unknown_pool_option: (word: string, n: Near) => near(`unknown pool option \`${word}\``, n),
  hosted_pool_cap: () =>
    say("a pool on a device or an engine takes `cap` from it", "write `NAME cap c;` there"),
  hosted_pool_count: () =>
    say(
      "a pool on a device or an engine is a family as its owner is",
      "write no `[N]`; for N queues that one engine admits, `NAME[N] cap c;` in the engine",
    ),
  resource_name: (name: string) =>
    say(
      `\`${name}\` is a word of the language or a definition; a device's resource needs another name`,
    ),
  resource_twice: (name: string) => say(`\`${name}\` is declared twice here`),
  resource_elsewhere: (name: string, where: string) =>
    say(`\`${name}\` is a time of the device: it is read in \`execute\`, not in ${where}`),
  no_device: (name: string, n: Near) =>
    near(`no device \`${name}\` is declared above`, n, `write \`device ${name} { … }\` above`),
  device_taken: (name: string) => say(`device \`${name}\` already has an engine`),
  no_host: (name: string, n?: Near) => near(`no device or engine \`${name}\` is declared above`, n),
  no_capacity: (name: string, host: string) =>
    say(`\`${host}\` has no capacity \`${name}\``, `write \`${name} cap c;\` there`),
  capacity_without_pool: (name: string, host: string) =>
    say(
      `\`${name}\` of \`${host}\` is no pool, and nothing can hold it`,
      `declare \`pool ${name} on ${host} { … }\``,
    ),
  capacity_family_in_family: (name: string, engine: string) =>
    say(`\`${name}[…]\`: \`${engine}\` is a family, whose members have one queue of a name`),
  device_pools: (device: string) => say(`device \`${device}\` already has its pool`),
  // Engines
  engine_needs: (name: string, what: string) => say(`engine \`${name}\` needs \`${what}\``),
  engine_item_twice: (what: string) => say(`\`${what}\` twice in one engine`),
  unknown_engine_item: (word: string, n: Near) => near(`unknown engine item \`${word}\``, n),
  engine_device_sizes: (engine: string, size: number | null, device: string, count: number) =>
    say(
      `engine \`${engine}\` ${size === null ? "is single" : `has ${size} members`} and device ` +
        `\`${device}\` has ${count}`,
      "a family of engines stands on a family of devices of the same size",
    ),
  engine_other_device: (engine: string, device: string) =>
    say(`engine \`${engine}\` is on device \`${device}\``),
  tokens_cap_positive: (name: string, value: number) =>
    say(`engine \`${name}\`: \`tokens cap ${value}\` lets no token through`),
  state_in_family: (engine: string) =>
    say(`\`${engine}\` is a family; a register is a single engine's`),
  state_twice: (name: string) => say(`register \`${name}\` is declared twice`),
  unknown_register: (name: string, engine: string) =>
    say(
      `\`${name}\` is no register of \`${engine}\``,
      `write \`state ${name} = 0;\` in the engine`,
    ),
  engine_word: (name: string, word: string) =>
    say(`in an engine, \`${name}\` is \`${word}\``, "an engine's values are read by its own names"),
  unknown_engine_value: (name: string, n: Near) => near(`an engine has no \`${name}\``, n),
  engine_value_elsewhere: (name: string, where: string) =>
    say(`\`${name}\` is read in an engine, not in ${where}`),
  engine_value_moment: (name: string, where: string, early: boolean) =>
    say(
      `${where} is read ${early ? "before the batch is formed" : "at another moment"}: it has no ` +
        `\`${name}\``,
      "see the table of engine values in docs/serq.md",
    ),
  waiting_in_family: (name: string) => say(`\`waiting.count\` in the engine family \`${name}\``),
  schedule_empty: () =>
    say(
      "a schedule needs a statement",
      "`advance running; admit waiting while (running.preempted == 0);`",
    ),
  schedule_late_let: () => say("a schedule's `let` stands before its statements"),
  schedule_let: (name: string) =>
    say(`\`${name}\` is a \`let\` of the schedule: it is read only in \`each at most\``),
  unknown_schedule_statement: (word: string, n: Near) =>
    near(`unknown schedule statement \`${word}\``, n),
  advance_what: () => say("`advance` takes `running`", "write `advance running;`"),
  admit_what: () => say("`admit` takes `waiting`", "write `admit waiting;`"),
  exclusive_elsewhere: () =>
    say(
      "`exclusive prefill` stands first, followed by one `admit waiting while (running.preempted == 0)`",
    ),
  at_most_everywhere: () =>
    say("some statements say `each at most` and others do not", "an iteration has one cap a run"),
  at_most_differs: () => say("two different `each at most`", "an iteration has one cap a run"),
  // Workload and statements
  unknown_workload_item: (word: string, n: Near) => near(`unexpected \`${word}\` in workload`, n),
  workload_item_twice: (word: string) => say(`the workload says \`${word}\` twice`),
  unknown_arrival: (word: string, n: Near) => near(`unknown arrivals \`${word}\``, n),
  session_without_turn: () =>
    say("the workload's session has no `turn;`", "each turn uses the server"),
  unknown_statement: (word: string, n: Near) => near(`unknown statement \`${word}\``, n),
  turn_elsewhere: (place: string) =>
    say(`\`turn\` is the session's: it may not stand in \`${place}\``),
  size_in_server: () =>
    say("a server cannot declare a request Size", "a size belongs to the workload; use `set`"),
  observes_built_in: (name: string) =>
    say(`\`${name}\` is a built-in attribute; an observation needs another name`),
  mark_elsewhere: () => say("`mark` is a queue entry's: it names a moment that the caller reads"),
  run_without_stage: () => say("`run` names a stage", "write `run STAGE (cost(STAGE, n));`"),
  record_empty: (name: string) => say(`record \`${name}\` has no field`),
  record_differs: (name: string, fields: string) =>
    say(
      `record \`${name}\` is declared with other fields`,
      `elsewhere it has ${fields}, in this order`,
    ),
  field_twice: (name: string, field: string) =>
    say(`record \`${name}\` has two fields \`${field}\``),
  binding_draws: () => say("an admission binding draws a sample", "`set` a name before the hold"),
  binding_live: (name: string, reads: string) =>
    say(
      `\`${name}\` reads \`${reads}\`, and the body reads \`${name}\` again`,
      "a binding that the body reads may only read attributes and constants",
    ),
  // The serving vocabulary
  none_plays: (form: string, names: string) =>
    say(
      `no stage declared above plays \`${form}\``,
      `name a stage ${names}, or write \`${form} on STAGE (…)\``,
    ),
  several_play: (form: string, names: string) =>
    say(`several stages play \`${form}\` (${names})`, `write \`${form} on STAGE (…)\``),
  stage_not_above: (name: string, n: Near) => near(`no stage \`${name}\` is declared above`, n),
  tool_below: (place: string) =>
    say(`stage \`tool\` is declared below, at ${place}`, "declare it above the form that uses it"),
  form_growing: (form: string) =>
    say(
      `\`${form}\` takes no \`growing\``,
      "a run on an engine grows a hold: `run E decode (…) growing P;`",
    ),
  transfer_without_ends: () =>
    say(
      "`transfer` without `from P to Q (n)`",
      "a transfer leaves the lease or hold on P and enters the hold on Q; for time alone `run link (…);`",
    ),
  // Queues and relations
  queue_name: (name: string) => say(`\`${name}\` is a serving word; a queue needs another name`),
  unknown_role: (word: string, n: Near) =>
    near(`unknown role \`${word}\``, n, "a queue plays gateway, prefill, decode or link"),
  unknown_queue_item: (word: string) => say(`unexpected \`${word}\` in a queue`),
  unknown_entry: (verb: string, n: Near) =>
    near(`unknown entry \`${verb}\``, n, "entries are route, prefill, decode and transfer"),
  entry_without_role: (verb: string, role: string, queue: string) =>
    say(`\`${verb}\` is an entry of a \`${role}\` queue`, `declare \`queue ${queue} : ${role}\``),
  entry_params: (queue: string, verb: string, wanted: number, got: number) =>
    say(`\`${queue}.${verb}\` takes ${wanted} parameter(s) in its role; it declares ${got}`),
  entry_from: (verb: string) =>
    say(`\`${verb}\` is not taken \`from\` a queue`, "only `decode` is"),
  entry_twice: (queue: string, verb: string) => say(`\`${queue}\` declares \`${verb}\` twice`),
  role_without_entry: (queue: string, role: string, verb: string) =>
    say(`queue \`${queue}\` plays \`${role}\` and has no \`${verb}\` entry`),
  queue_order: (queue: string, what: string) =>
    say(`queue \`${queue}\` declares its \`${what}\` above its entries`),
  queue_two_stages: (queue: string) =>
    say(`queue \`${queue}\` has two stages`, "one engine or `serve`"),
  queue_pool_count: (name: string) =>
    say(`\`${name}\` in a queue has no size of its own`, "it has the queue's"),
  nic_twice: (queue: string) => say(`queue \`${queue}\` has two NICs`),
  self_single: (queue: string) => say(`\`self\` in queue \`${queue}\`, which is no family`),
  gateway_family: (queue: string) => say(`the gateway \`${queue}\` may not be a family`),
  latency_and_entry: (queue: string) =>
    say(`link \`${queue}\` has an entry and a \`latency\``, "write the wait in the entry"),
  pool_of_queue: (pool: string, queue: string) =>
    say(
      `\`${pool}\` is held by the entries of \`${queue}\` only`,
      `call one: \`${queue}.verb (…);\``,
    ),
  no_lease: (queue: string) =>
    say(`no entry of \`${queue}\` leases a pool`, "`hold … { … } lease POOL (time);`"),
  unknown_queue: (name: string, n: Near) => near(`no queue \`${name}\` is declared`, n),
  queue_unindexed: (name: string, count: number) =>
    say(`\`${name}\` is a family of ${count}; index it`),
  queue_indexed: (name: string) => say(`queue \`${name}\` is no family`),
  entry_in_workload: () =>
    say("queue entries belong in `server`", "a session describes its turns with `turn;`"),
  no_entry: (queue: string, verb: string, n: Near) =>
    near(`queue \`${queue}\` has no entry \`${verb}\``, n),
  call_arity: (queue: string, verb: string, wanted: number, got: number) =>
    say(`\`${queue}.${verb}\` takes ${wanted} argument(s), got ${got}`),
  call_from: (queue: string, verb: string, taken: boolean) =>
    say(
      taken
        ? `\`${queue}.${verb}\` has no entry taken \`from\` a queue`
        : `\`${queue}.${verb}\` is taken \`from\` a queue: say which`,
    ),
  call_to: (queue: string, verb: string) => say(`\`${queue}.${verb}\` takes no \`to\``),
  call_other_source: (queue: string, source: string) =>
    say(`\`${queue}\` takes from \`${source}\`, as its relation says`),
  transfer_call_ends: (queue: string) =>
    say(
      `\`${queue}.transfer (n) from S to P (m);\` names the pool it takes from and the pool it fills`,
    ),
  entry_argument_draws: (queue: string, verb: string, param: string) =>
    say(
      `\`${queue}.${verb}\`: the argument for \`${param}\` draws a sample`,
      "`set` a name to it first",
    ),
  entry_header: (entry: string, name: string) =>
    say(
      `\`${entry}\`: the header reads \`${name}\``,
      `a header sees parameters and the queue's own; pass \`${name}\` as a parameter`,
    ),
  entry_reads: (entry: string, name: string) =>
    say(
      `\`${entry}\` reads \`${name}\`, which is set outside the queue`,
      `pass \`${name}\` as a parameter, or \`mark\` a moment for the caller to read`,
    ),
  relation_unknown: (name: string, n: Near) => near(`no queue \`${name}\` is declared above`, n),
  relation_nic: (queue: string) =>
    say(`queue \`${queue}\` has no \`nic\``, "write `nic ps (rate);` in it"),
  relation_without_share: () => say("a relation says how NICs are shared", "`share maxmin`"),
  one_relation: (queue: string) =>
    say(`\`${queue}\` already takes from a queue: one relation per reader`),
  one_latency: (queue: string) => say(`\`${queue}\` already has a latency: one per poster`),
  share_twice: (place: string) => say(`\`share\` is already said at ${place}`),
  share_differs: (place: string) => say(`another \`share\` is said at ${place}`),
} satisfies Record<string, (...args: never[]) => Message>;

function article(what: string): string {
  return `${/^[aeio]/.test(what) ? "an" : "a"} ${what}`;
}
