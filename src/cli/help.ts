/** The texts of `--help`. */
import { type Defaults, environmentName, type FlagName, FLAGS } from "../config.ts";
import type { Command } from "./command.ts";
import { COMMANDS } from "./commands.ts";

const WIDTH = 96;
const ASKING_HELP = "--help shows a command's flags; --version prints the version.";
const EXIT_CODES =
  "Exit codes: 0 done; 1 the input, the model or the machine is at fault; 2 wrong usage.";

export function mainHelp(): string {
  const shown = Object.entries(COMMANDS).filter(([name]) => !name.startsWith("_"));
  const width = Math.max(...shown.map(([name]) => name.length));
  const lines = shown.map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return [
    "Ganglion serves streaming spiking neural networks.",
    "",
    "Usage: ganglion COMMAND [arguments] [flags]",
    "       ganglion --runtime bun COMMAND ...     (Deno is the default)",
    "",
    "Commands:",
    ...lines,
    "",
    ASKING_HELP,
    "Every flag can be given as a variable: --if-gain r is GANGLION_IF_GAIN=r.",
    EXIT_CODES,
    "",
  ].join("\n");
}

export function commandHelp(name: string, command: Command): string {
  const groups = Object.entries({
    ...command.flags,
    "Answers": ["print-config", "help"] as const,
  });
  return [
    `Usage: ganglion ${name} ${command.usage}`,
    "",
    command.about,
    ...groups.flatMap((
      [heading, flags],
    ) => ["", `${heading}:`, ...flagLines(flags, command.defaults)]),
    "",
    "Examples:",
    ...command.examples.map((example) => `  ${example}`),
    "",
    `Every flag can be given as a variable, e.g. ${environmentName("device")}=cpu; the flag wins.`,
    EXIT_CODES,
    "",
  ].join("\n");
}

function flagLines(names: readonly FlagName[], defaults: Defaults = {}): string[] {
  const heads = names.map(flagHead);
  const indent = Math.min(26, Math.max(...heads.map((head) => head.length)) + 4);
  return names.flatMap((name, i) => {
    const head = `  ${heads[i]}`;
    const lines = wrap(flagText(name, defaults), WIDTH - indent);
    if (head.length + 2 > indent) lines.unshift("");
    return lines.map((line, n) => (n === 0 ? head.padEnd(indent) : " ".repeat(indent)) + line)
      .map((line) => line.trimEnd());
  });
}

function flagHead(name: FlagName): string {
  const { short, placeholder }: { short?: string; placeholder: string | null } = FLAGS[name];
  return (short ? `-${short}, ` : "") + `--${name}` +
    (placeholder === null ? "" : ` ${placeholder}`);
}

function flagText(name: FlagName, defaults: Defaults): string {
  const { help, fallback, many }: { help: string; fallback: unknown; many?: boolean } = FLAGS[name];
  const value = defaults[name] ?? fallback;
  const shown = typeof value === "string" || typeof value === "number";
  return help + (shown ? ` [${value}]` : "") + (many ? "; may be repeated" : "");
}

function wrap(text: string, width: number): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1)!;
    if (line === "") lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}
