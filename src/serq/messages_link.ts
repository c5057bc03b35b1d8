/** Texts for what a program's parts mean together. Help says what to write instead. */
import { type Message, placeText, type Span } from "./diagnostic.ts";

type Near = string | undefined;

const say = (text: string, help?: string): Message => ({ text, help });
const near = (text: string, word: Near, help?: string): Message =>
  say(text, word === undefined ? help : `did you mean \`${word}\`?`);

export const LINK = {
  missing_main: () => say("missing `fn main()`", "definitions do not execute by themselves"),
  no_horizon: () => say("no horizon", "give --horizon T, the time at which the run ends"),
  warmup_horizon: () => say("the warmup must be below the horizon"),
  arrivals_open: () => say("--arrivals applies only to poisson or renewal arrivals"),
  // Names
  unknown_name: (name: string, n: Near) => near(`unknown name \`${name}\``, n),
  unknown_family: (kind: string, name: string, n: Near, at: Span | undefined) => ({
    text: `unknown ${kind} \`${name}\``,
    help: n === undefined
      ? `declare this ${kind} or use the name of an existing one`
      : `did you mean ${kind} \`${n}\`?`,
    notes: at === undefined ? [] : [`\`${n}\` is declared at ${placeText(at)}`],
  }),
  unknown_resource: (name: string, n: Near) => near(`unknown pool or stage \`${name}\``, n),
  unknown_function: (name: string, n: Near) => near(`unknown function \`${name}\``, n),
  unknown_distribution: (name: string, n: Near) =>
    near(`unknown distribution \`${name}\``, n, "exp, det, uniform, erlang, h2, bernoulli"),
  unknown_observation: (name: string, n: Near) => near(`no statement observes \`${name}\``, n),
  duplicate: (what: string, name: string, place: string): Message => ({
    text: `duplicate ${what} \`${name}\``,
    notes: [`first declared at ${place}`],
    help: "rename or remove one",
  }),
  declared_twice: (what: string, name: string) => say(`${what} \`${name}\` is declared twice`),
  supplied_name: (name: string, what: string) =>
    say(`\`${name}\` is a name the language supplies; ${what} needs another name`),
  constant_and_attribute: (name: string) =>
    say(`\`${name}\` is a constant: it cannot be set`, "choose another name for the attribute"),
  gauge_is_observation: (name: string) => say(`\`${name}\` is a gauge and an observation`),
  // Families and indices
  family_unindexed: (name: string, count: number) =>
    say(`\`${name}\` is a family of ${count}; index it`),
  indexed_twice: (name: string) => say(`\`${name}\` is indexed twice`),
  index_out_of_range: (name: string, index: number, count: number) =>
    say(`\`${name}[${index}]\` is out of range`, `its members are 0 to ${count - 1}`),
  index_fraction: (name: string, index: number) => say(`\`${name}[${index}]\`: an index is whole`),
  index_number: (where: string) => say(`in ${where} an index is a number`),
  // Expressions
  arity: (name: string, wanted: number, got: number) =>
    say(`\`${name}\` takes ${wanted} argument(s), got ${got}`),
  expects_family: (name: string, kind: string) => say(`\`${name}\` expects a ${kind} name here`),
  expects_observation: (name: string) => say(`\`${name}\` expects the name of an observation`),
  reference_as_number: (name: string) => say(`\`${name}[…]\` is a pool or stage, not a number`),
  no_block: (pool: string) => say(`pool \`${pool}\` has no \`block\``, "`blocksize` reads it"),
  cost_arity: () => say("`cost` takes a resource and an amount", "write `cost(R, n)`"),
  cost_resource: () => say("`cost` expects the name of a pool or stage before the amount"),
  cost_index_draws: () => say("the index of a cost may not draw"),
  aggregate_count: (op: string, count: number | null) =>
    say(`\`${op} j in n\`: n is a constant whole number from 1, found ${count ?? "no constant"}`),
  aggregate_terms: (max: number) =>
    say(`the aggregates of the program write more than ${max} terms`),
  aggregate_variable: (name: string) => say(`\`${name}\` already names something else`),
  not_a_constant: (name: string, n: Near) => near(`\`${name}\` is not a constant`, n),
  constant_nan: (what: string) =>
    say(`${what} is NaN`, "a constant is a number or `inf`; `0/0` and `inf - inf` are not"),
  // Moments
  context_elsewhere: (name: string, where: string, moments: string[]) =>
    say(`\`${name}\` is read in ${where}, but it exists only in ${moments.join(", ")}`),
  function_elsewhere: (name: string, where: string) =>
    say(`\`${name}\` cannot be read in ${where}`),
  register_elsewhere: (name: string, engine: string, where: string) =>
    say(`\`${name}\` is a register of engine \`${engine}\`; it cannot be read in ${where}`),
  attribute_without_session: (name: string, where: string) =>
    say(`\`${name}\` is a session attribute, and ${where} has no session`),
  may_not_draw: (what: string) => say(`${what} may not draw`, "`set` a name to the draw before"),
  budget_reads_itself: () => say("`budget_left` in a `tokens cap` would read itself"),
  budget_left_stage: (stage: string) => say(`\`budget_left(${stage})\`: \`${stage}\` is no engine`),
  // Numbers
  fifo_servers: (name: string) => say(`stage \`${name}\`: fifo servers must be a positive integer`),
  block_positive: (name: string) => say(`pool \`${name}\`: block must be positive`),
  gap_positive: (gap: number) => say(`a gap of ${gap}: it must be positive and finite`),
  rate_positive: (rate: number) => say(`a rate of ${rate}: a rate must be positive and finite`),
  session_count: (what: string, value: number, max: number) =>
    say(`${what} is ${value}: a count is a whole number from 1 to ${max}`),
  amount_negative: (what: string, value: number) =>
    say(`${what} is ${number(value)}: an amount of units, tokens or seconds is 0 or more`),
  // Engines
  granule_positive: (name: string) => say(`engine \`${name}\`: a granule must be positive`),
  granule_exclusive: (name: string) =>
    say(`engine \`${name}\`: no granule with \`exclusive prefill\``),
  granule_large: (name: string, granule: number, most: number) =>
    say(`engine \`${name}\`: a granule of ${granule} is more than \`each at most (${most})\``),
  state_init: (name: string) => say(`register \`${name}\` starts from a finite constant`),
  at_most_positive: (value: number) =>
    say(`\`each at most (${value})\` gives no run a token`, "a cap is above 0, or `inf` for none"),
  at_most_form: () =>
    say(
      "`each at most` could be 0 or below",
      "write a constant, `inf`, `max(k, x)` with a constant k above 0, or a `? :` of such",
    ),
  schedule_idle_path: (name: string) =>
    say(`engine \`${name}\`: a path of the schedule neither serves nor admits`),
  spill_engine: (name: string) => say(`a spill cannot be carried by the engine \`${name}\``),
  claim_engine: (claim: string, stage: string) =>
    say(`claim \`${claim}\`: \`${stage}\` is no engine and has no iterations`),
  // Runs
  mode_missing: (stage: string) =>
    say(
      `\`${stage}\` is an engine: \`prefill\`/\`decode\` are required on a step stage and not ` +
        "allowed elsewhere",
      `write \`run ${stage} prefill (…);\` or \`run ${stage} decode (…);\``,
    ),
  mode_elsewhere: (stage: string) =>
    say(
      `\`${stage}\` is no engine: \`prefill\`/\`decode\` are required on a step stage and not ` +
        "allowed elsewhere",
    ),
  growing_elsewhere: () =>
    say("`growing` needs a step stage: it feeds an engine's tokens to a hold"),
  flow_mode: () => say("a run over several stages has no mode"),
  flow_twice: (stage: string) => say(`\`${stage}\` is named twice in one run`),
  flow_capacity: (stage: string) =>
    say(`\`${stage}\` is shared: it is a \`ps\` of a constant φ above 0`),
  share_missing: () =>
    say(
      "a run over several stages needs the program's `share`",
      "write `share maxmin;` or `share bottleneck;`",
    ),
  share_unused: () => say("`share` without a run over several stages"),
  // Holds
  hold_twice: (pool: string) => say(`a hold takes \`${pool}\` twice`),
  hold_over_cap: (units: number, blocks: number | null, cap: number) =>
    say(
      `this hold waits for ${number(units)} units` +
        (blocks === null ? "" : ` (${units_(blocks, units)})`) + `, more than its cap ${cap}`,
    ),
  outside_hold: (what: string, pool: string) =>
    say(`\`${what} ${pool}\` outside a hold of \`${pool}\``, "it acts on the enclosing hold"),
  hold_other_index: (what: string, pool: string) =>
    say(
      `\`${what} ${pool}\`: the hold names another member; name it as the hold does, index included`,
    ),
  hold_index_changes: (pool: string, name: string) =>
    say(
      `the hold's \`${pool}\` reads \`${name}\`, whose body changes it`,
      "the index is read again in the hold",
    ),
  hold_index_moves: (pool: string) =>
    say(`the index of \`${pool}\` moves between admission and the end of the hold`),
  lease_other: (pool: string) => say(`the lease: the hold does not take that pool (\`${pool}\`)`),
  reuse_without_cache: () =>
    say("`reuse` on a hold that has no `cache` clause", "write `cache (0)` to keep nothing"),
  cached_without_cache: () =>
    say(
      "`cached` is read in a hold that has no `cache` clause",
      "write `cache (0)` to keep nothing",
    ),
  stale_header: (name: string, reads: string) =>
    say(
      `\`${name}\` reads ${reads} when it is set, and a hold's header reads it at admission`,
      `write \`at admission (${name} = …)\` for the value at admission`,
    ),
  // Control
  workload_block: (place: string) => say(`\`${place}\` may only \`set\` and \`observe\``),
  guard_fraction: (value: number) =>
    say(
      `the guard is ${value}, and a guard is 0 or 1`,
      `for a chance write \`branch with (${value})\``,
    ),
  guard_constant: (value: number) => say(`the guard is ${value}, not 0 or 1`),
  no_time: (what: string) =>
    say(
      `every path through a \`${what}\` must let time pass`,
      "a `run` of some work, a `hold` whose body runs, or `end`",
    ),
  fork_without_join: () => say("a program that forks and never joins", "write `join;`"),
  join_without_fork: () => say("`join` waits for nothing: no leg is forked"),
  leg_statement: (what: string) => say(`a leg may not \`${what}\``),
  fork_in_preemptible: (pool: string) =>
    say(`a fork inside a hold of \`${pool}\`, which can be preempted`),
  // Types
  cost_as_number: () => say("a resource cost is not an ordinary quantity"),
  cost_mixed: () => say("the two sides are costs of different resources, or one is no cost"),
  cost_product: () => say("a resource cost is multiplied or divided by an ordinary quantity only"),
  cost_required: (wanted: string, found: string) =>
    say(
      `this requires its cost type, Cost(${wanted}), and is ${found}`,
      `write \`cost(${wanted}, …)\``,
    ),
  cost_two: (name: string) => say(`\`${name}\` is assigned costs of different resources`),
  lease_cost: () => say("a lease duration is seconds, not a resource cost"),
  guard_cost: () => say("a control-flow predicate is not a resource cost"),
  type_assertion: (name: string, found: string) =>
    say(`\`Cost ${name}\` is assigned ${found}`, "write `cost(R, …)`"),
  server_sets_size: (name: string) =>
    say(
      `server cannot assign request size \`${name}\``,
      "a size belongs to the workload; `set` another name",
    ),
  workload_cost: () =>
    say(
      "the workload cannot create or read a cost of a server's resource",
      "send a size and convert it in the server",
    ),
  workload_sizes: () => say("`init` and `turn` produce sizes, not costs"),
  cost_unassigned: (name: string) =>
    say(`\`${name}\` is read before every path converts and assigns it`),
  // Hidden
  hidden_unknown: (name: string) => say(`hidden \`${name}\`: nothing sets it`),
  hidden_built_in: (name: string) => say(`\`${name}\` cannot be hidden: the deployment makes it`),
  hidden_header: (name: string, where: string) =>
    say(`\`${name}\` is hidden from the scheduler and cannot be read in ${where}`),
  hidden_early: (name: string) =>
    say(
      `\`${name}\` is hidden, and decides here before a run reveals it`,
      "decide after a run whose work reads it has ended",
    ),
} satisfies Record<string, (...args: never[]) => Message>;

function number(value: number): string {
  return String(value).replace("Infinity", "inf");
}

function units_(blocks: number, units: number): string {
  return `${Math.ceil(units / blocks) * blocks} in blocks of ${blocks}`;
}
