/** Programs to read: the shared cases where they are at hand, and the examples of this repository. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

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
