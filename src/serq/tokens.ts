/**
 * Tokens of serQ, and the words that the grammar takes for itself. The lexer knows no keywords: an
 * identifier becomes one by its position, so only declarations that would hide a word are refused.
 */
import type { Span } from "./diagnostic.ts";

export type TokenKind = "name" | "number" | "string" | "operator" | "end";

export interface Token {
  readonly kind: TokenKind;
  /** An operator or name as written; a string without its quotes; empty at the end. */
  readonly text: string;
  /** The value of a number, else 0. */
  readonly value: number;
  readonly at: Span;
}

/** Longest first, so that the lexer may take the first that fits. */
export const OPERATORS: readonly string[] = [
  ...["<=", ">=", "==", "!=", "&&", "||"],
  ...["{", "}", "(", ")", "[", "]", ",", ";", ":", ".", "=", "~", "?"],
  ...["+", "-", "*", "/", "^", "<", ">", "!"],
];

/** Nothing that a program defines may be called one of these. */
export const RESERVED: ReadonlySet<string> = new Set(
  `Cost Size admission admit advance arrivals arrive at batch bernoulli block bottleneck branch budget
  by cache cap choose chunk claim closed cost decode def delay device drop else end engine every evict
  exclusive execute fifo first fits fn fork from gauge given granule grow growing head held hidden hold
  horizon in init iteration join latency lease let lifo link load loop lru mark maxmin memory nic none
  observe of on only ordered poisson pool preempt prefill ps pull push queue release renewal request
  requeue reserve reuse run schedule seed serve server session set share some spill stage state step sum
  tail to tool trace transfer turn use via warmup when while with workload`.split(/\s+/),
);

/** Words of earlier versions; they may name nothing, so that an old program is told what to write. */
export const RETIRED: ReadonlySet<string> = new Set(["enter", "admit", "keep", "where", "fit"]);

export const FUNCTIONS: readonly string[] = [
  ..."min max abs floor ceil sqrt exp ln pow".split(" "),
  ..."queue busy work est_lambda est_rho est_wait price".split(" "),
  ..."used free cachedin holders queued budget_left blocksize cost".split(" "),
  ..."total count largest smallest prefix_total".split(" "),
];

export const DISTRIBUTIONS: readonly string[] = [
  ...["exp", "det", "uniform", "erlang", "h2", "bernoulli"],
];

/** Names that the language supplies at some moment; an attribute, constant or observation may not. */
export const SUPPLIED: ReadonlySet<string> = new Set(
  `now waited size age last waiting present decoding admission remaining position residents decoders
  kv_decode kv_prefill tokens prefilled attention admitted preempted demand served arrived inf running batch`
    .split(/\s+/),
);
