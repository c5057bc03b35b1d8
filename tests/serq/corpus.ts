/** Programs to read: the shared cases where they are at hand, and the examples of this repository. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

type NamedFields = Readonly<Record<string, Readonly<Record<string, number>>>>;
type Tolerances = Readonly<Record<string, { readonly value: number; readonly abs_tol: number }>>;

export interface ExpectedIteration {
  readonly start: number;
  readonly engine: string;
  readonly duration: number;
  readonly batch: readonly {
    readonly session: number;
    readonly mode: "prefill" | "decode";
    readonly tokens: number;
  }[];
}

export interface Case {
  readonly id: string;
  readonly kind: "run" | "error";
  readonly source: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly settings: {
    readonly seed?: number;
    readonly warmup?: number;
    readonly horizon?: number;
    readonly arrivals?: number;
  };
  readonly expect: {
    readonly observes?: Readonly<Record<string, readonly number[]>>;
    /** Observations without a value. */
    readonly absent?: readonly string[];
    readonly iterations?: readonly ExpectedIteration[];
    /** Fields of the report, and of its stages, pools and gauges by their names. */
    readonly run?: Readonly<Record<string, number>>;
    readonly stages?: NamedFields;
    readonly stage_order?: readonly string[];
    readonly pools?: NamedFields;
    readonly gauges?: NamedFields;
    /** `holds`, `fails at T`, `witnessed at T`, `not witnessed`, … */
    readonly claims?: Readonly<Record<string, string>>;
    readonly report_text?: string;
    readonly analytic_observes?: Readonly<
      Record<string, { readonly mean: number; readonly rel_tol: number }>
    >;
    readonly analytic_run?: Tolerances;
    readonly analytic_stages?: Readonly<Record<string, Tolerances>>;
    readonly error?: {
      readonly phase: "parse" | "link" | "run";
      readonly contains: readonly string[];
      readonly line?: number;
      readonly col?: number;
    };
  };
}

const shared = new URL("../../../shared/research/serq/cases.json", import.meta.url);

/** The hand-derived cases; empty where the folder beside the repository is not there. */
export const CASES: readonly Case[] = existsSync(shared)
  ? (JSON.parse(readFileSync(shared, "utf8")) as { cases: Case[] }).cases
  : [];

const folder = fileURLToPath(new URL("../../examples/serq/", import.meta.url));

export const EXAMPLES: readonly { readonly file: string; readonly text: string }[] = readdirSync(
  folder,
)
  .filter((file) => file.endsWith(".sq"))
  .map((file) => ({ file, text: readFileSync(`${folder}${file}`, "utf8") }));
