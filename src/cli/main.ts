/**
 * The command line: finds the command, reads its flags, runs it, turns errors into exit codes.
 * 0 done; 1 the input, the model or the machine is at fault; 2 wrong usage.
 */
import { closest } from "../base/closest.ts";
import { ERRORS, GanglionError } from "../base/errors.ts";
import {
  ASKING,
  type FlagName,
  FLAGS,
  limitsOf,
  type Reading,
  readSettings,
  unknownVariables,
} from "../config.ts";
import { environment, exit, programArguments, say, writeOut } from "../runtime/process.ts";
import { threadsDown } from "../runtime/thread.ts";
import { VERSION } from "../runtime/version.ts";
import type { Command } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { commandHelp, mainHelp } from "./help.ts";

const DONE = 0, AT_FAULT = 1, WRONG_USAGE = 2;

async function main(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv;
  if (name === undefined) {
    say(mainHelp());
    return WRONG_USAGE;
  }
  if (["help", "--help", "-h"].includes(name)) return await help(rest[0]);
  if (["--version", "-V", "version"].includes(name)) {
    await writeOut(`ganglion ${VERSION}\n`);
    return DONE;
  }
  const command = findCommand(name);
  const reading = readSettings(flagsOf(command), rest, environment(), command.defaults);
  if (reading.settings.help) return await help(name);
  if (reading.settings.version) return await main(["--version"]);
  for (const warning of unknownVariables(environment())) say(`warning: ${warning}`);
  if (reading.settings["print-config"]) {
    await writeOut(configText(name, reading));
    return DONE;
  }
  const { run } = await command.load();
  return await run(reading);
}

function findCommand(name: string): Command {
  if (Object.hasOwn(COMMANDS, name)) return COMMANDS[name]!;
  if (name.startsWith("-")) {
    throw new GanglionError("usage", `A command comes first, then flags; got ${name}`);
  }
  const near = closest(name, Object.keys(COMMANDS));
  const hint = near ? `; did you mean ${near}?` : `; see ganglion --help`;
  throw new GanglionError("usage", `There is no command ${name}${hint}`);
}

function flagsOf(command: Command): FlagName[] {
  return [...Object.values(command.flags).flat(), ...ASKING];
}

async function help(name: string | undefined): Promise<number> {
  if (name === undefined) await writeOut(mainHelp());
  else await writeOut(commandHelp(name, findCommand(name)));
  return DONE;
}

function configText(command: string, { settings, sources, positionals }: Reading): string {
  const names = [...sources.keys()].filter((name) => !ASKING.includes(name));
  const entries = names.map((name) => {
    const value = settings[name];
    const secret = "secret" in FLAGS[name] && Array.isArray(value);
    const shown = secret ? `${value.length} hidden` : value ?? null;
    return [name, { value: shown, source: sources.get(name) }];
  });
  const config = {
    command,
    arguments: positionals,
    settings: Object.fromEntries(entries),
    limits: limitsOf(settings),
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}

function report(error: unknown): number {
  if (!(error instanceof GanglionError)) {
    say(`ganglion: this is a fault of Ganglion itself, please report it:`);
    say(error instanceof Error ? error.stack ?? error.message : String(error));
    return AT_FAULT;
  }
  say(`ganglion: ${error.message}`);
  if (error.code === "usage") {
    say("See ganglion --help, or ganglion COMMAND --help.");
    return WRONG_USAGE;
  }
  // A path that cannot be opened says all there is to say.
  if (error.facts.path === undefined || error.cause) say(`  ${ERRORS[error.code].action}.`);
  return AT_FAULT;
}

const code = await main(programArguments()).catch(report);
await threadsDown();
exit(code);
