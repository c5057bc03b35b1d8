/**
 * Moments: when an expression is evaluated decides which names the language supplies to it, whether it
 * may draw, and what an engine's `running.…`, `batch.…` and `waiting.…` mean.
 */
import type { ContextVariable } from "./ir.ts";

export interface Moment {
  readonly name:
    | "session"
    | "constant"
    | "admit"
    | "reserve"
    | "reuse"
    | "binding"
    | "select"
    | "evict"
    | "spill"
    | "victim"
    | "ps"
    | "gap"
    | "budget"
    | "at_most"
    | "only"
    | "serve"
    | "plan"
    | "step"
    | "gauge"
    | "given"
    | "iteration"
    | "end";
  /** As messages say it: "a queue key". */
  readonly words: string;
  /** Context variables, by the names of the source. */
  readonly variables: ReadonlySet<string>;
  readonly draws: boolean;
  /** Session attributes can be read. */
  readonly attributes: boolean;
}

export const CONTEXT: Readonly<Record<string, ContextVariable>> = {
  now: "Now",
  waited: "Waited",
  size: "Size",
  age: "Age",
  last: "Last",
  waiting: "Queued",
  present: "N",
  tokens: "Ntok",
  decoders: "Ndec",
  prefilled: "Npre",
  residents: "Nres",
  kv_decode: "Kvb",
  kv_prefill: "Kvp",
  attention: "Attn",
  decoding: "Decoding",
  admission: "Admission",
  remaining: "Remaining",
  position: "Position",
  admitted: "Admitted",
  preempted: "Preempted",
  demand: "Demand",
  served: "Served",
  arrived: "Arrived",
};

/** Kernel names that an engine has words of its own for. */
export const ENGINE_WORDS: Readonly<Record<string, string>> = {
  residents: "running.count",
  decoders: "running.decoding",
  kv_decode: "running.kv_decode",
  kv_prefill: "running.kv_prefill",
  tokens: "batch.tokens",
  prefilled: "batch.prefilled",
  attention: "batch.attention",
  admitted: "waiting.admitted",
  preempted: "running.preempted",
};

const moment = (
  name: Moment["name"],
  words: string,
  variables: string,
  options: { draws?: boolean; attributes?: boolean } = {},
): Moment => ({
  name,
  words,
  variables: new Set(variables.split(" ").filter(Boolean)),
  draws: options.draws ?? false,
  attributes: options.attributes ?? true,
});

const NO_SESSION = { attributes: false };
const ITERATION = "residents decoders kv_decode kv_prefill";

export const MOMENTS = {
  session: moment("session", "a statement", "now", { draws: true }),
  constant: moment("constant", "a constant", "", NO_SESSION),
  admit: moment("admit", "a hold's units", "now"),
  reserve: moment("reserve", "a hold's `reserve`", "now"),
  reuse: moment("reuse", "a hold's `reuse`", "now"),
  binding: moment("binding", "an admission binding", "now"),
  select: moment("select", "a queue key", "now waited"),
  evict: moment("evict", "an eviction key", "now size age last waiting", { draws: true }),
  spill: moment("spill", "a spill clause", "now size age last waiting", { draws: true }),
  victim: moment("victim", "a preempt key", "now decoding admission position"),
  ps: moment("ps", "a `ps` capacity", "now present", { draws: true, attributes: false }),
  gap: moment("gap", "a `renewal` gap", "", { draws: true, attributes: false }),
  budget: moment("budget", "`tokens cap`", `now ${ITERATION}`, { draws: true, attributes: false }),
  at_most: moment("at_most", "`each at most`", `now ${ITERATION}`, NO_SESSION),
  only: moment("only", "an `only`", `decoding admission remaining ${ITERATION}`),
  serve: moment("serve", "a serving key", `now decoding admission remaining ${ITERATION}`),
  plan: moment(
    "plan",
    "a schedule's statement",
    `tokens prefilled admitted preempted ${ITERATION}`,
    NO_SESSION,
  ),
  step: moment("step", "`execute`", `now tokens prefilled attention ${ITERATION}`, {
    draws: true,
    attributes: false,
  }),
  gauge: moment("gauge", "a gauge", "", NO_SESSION),
  given: moment("given", "a claim's `given`", ""),
  iteration: moment(
    "iteration",
    "a claim over iterations",
    `now tokens prefilled attention demand served arrived ${ITERATION}`,
    NO_SESSION,
  ),
  end: moment("end", "a claim at the end", "now", NO_SESSION),
} satisfies Record<Moment["name"], Moment>;

/** Where a context variable exists, for the message that it does not exist here. */
export function momentsOf(variable: string): string[] {
  const found = Object.values(MOMENTS).filter(({ variables }) => variables.has(variable));
  return found.map(({ words }) => words);
}

/** Columns of the table of engine values: what may read each, and the kernel's name for it. */
type Reader = "cap" | "schedule" | "execute";

export const ENGINE_VALUES: Readonly<Record<string, { readers: Reader[]; kernel: string }>> = {
  "running.count": { readers: ["cap", "schedule", "execute"], kernel: "residents" },
  "running.decoding": { readers: ["cap", "schedule"], kernel: "decoders" },
  "running.kv_decode": { readers: ["cap", "schedule"], kernel: "kv_decode" },
  "running.kv_prefill": { readers: ["cap", "schedule"], kernel: "kv_prefill" },
  "running.preempted": { readers: ["schedule"], kernel: "preempted" },
  "waiting.admitted": { readers: ["schedule"], kernel: "admitted" },
  "waiting.count": { readers: ["cap", "schedule", "execute"], kernel: "" },
  "batch.tokens": { readers: ["schedule", "execute"], kernel: "tokens" },
  "batch.prefilled": { readers: ["schedule", "execute"], kernel: "prefilled" },
  "batch.decoding": { readers: ["execute"], kernel: "decoders" },
  "batch.kv_decode": { readers: ["execute"], kernel: "kv_decode" },
  "batch.kv_prefill": { readers: ["execute"], kernel: "kv_prefill" },
  "batch.attention": { readers: ["execute"], kernel: "attention" },
};

export function readerOf({ name }: Moment): Reader {
  if (name === "plan") return "schedule";
  return name === "step" ? "execute" : "cap";
}
