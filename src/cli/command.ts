/** What a command of the command line is, and one call of it. */
import type { Defaults, FlagName, Settings, Source } from "../config.ts";

export interface Command {
  /** One line for the list of commands. */
  readonly summary: string;
  /** What stands after the name: `MODEL INPUT.npy [flags]`. */
  readonly usage: string;
  /** Paragraphs for `--help`, without the flags. */
  readonly about: string;
  readonly examples: readonly string[];
  /** Groups of flags, each with its heading. */
  readonly flags: Readonly<Record<string, readonly FlagName[]>>;
  /** Where they are not those of the flags. */
  readonly defaults?: Defaults;
  /** Loads the code only when the command runs. */
  readonly load: () => Promise<{ run(call: Call): Promise<number> }>;
}

/** One call of a command. */
export interface Call {
  readonly positionals: readonly string[];
  readonly settings: Settings;
  /** Where each flag's value is from. */
  readonly sources: ReadonlyMap<FlagName, Source>;
}

/** A flag's value, or undefined where nobody gave one. */
export function given<K extends FlagName>(
  { settings, sources }: Omit<Call, "positionals">,
  name: K,
): Settings[K] | undefined {
  return (sources.get(name) ?? "default") === "default" ? undefined : settings[name];
}
