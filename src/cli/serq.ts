/**
 * The command `serq`: reads the flags, does what the command says, turns errors into exit codes.
 * 0 done; 1 the program is wrong, its run fails, or a file cannot be read or written; 2 wrong usage.
 */
import { GanglionError } from "../base/errors.ts";
import { RunError, SerqError } from "../serq/mod.ts";
import { exit, programArguments, say, VERSION, writeFileWhole, writeOut } from "../runtime/mod.ts";
import { compileFile, FileError, lowerFile } from "./serq_files.ts";
import { type Flags, helpText, readFlags, usage, UsageError } from "./serq_flags.ts";

const DONE = 0, AT_FAULT = 1, WRONG_USAGE = 2;

async function main(argv: readonly string[]): Promise<number> {
  const options = argv.includes("--") ? argv.slice(0, argv.indexOf("--")) : argv;
  if (argv.length === 0 || argv[0] === "help" || options.some(asksHelp)) {
    await writeOut(helpText());
    return argv.length === 0 ? WRONG_USAGE : DONE;
  }
  if (argv[0] === "--version" || argv[0] === "-V") {
    await writeOut(`serq ${VERSION}\n`);
    return DONE;
  }
  const flags = readFlags(argv);
  try {
    return await obey(flags);
  } catch (error) {
    if (error instanceof SerqError) {
      // An error in a library names the library.
      const where = error.at === null || error.at.source.name === flags.file
        ? flags.file
        : `${flags.file}: ${error.at.source.name}`;
      say(error.render(where));
    } else if (error instanceof RunError) say(`${flags.file}: ${error.message}`);
    else throw error;
    return AT_FAULT;
  }
}

const asksHelp = (word: string): boolean => word === "--help" || word === "-h";

async function obey(flags: Flags): Promise<number> {
  switch (flags.command) {
    case "run":
      return await (await import("./serq_run.ts")).run(flags);
    case "check": {
      const { pools, stages, attrs, blocks } = lowerFile(flags).program;
      await writeOut(
        `OK: ${pools.length} pool(s), ${stages.length} stage(s), ${attrs.length} attribute(s), ` +
          `${blocks.length} block(s)\n`,
      );
      return DONE;
    }
    case "ir":
      await writeOut(`${JSON.stringify(compileFile(flags), null, 2)}\n`);
      return DONE;
    case "draw": {
      const { draw } = await import("../serq/mod.ts");
      const svg = draw(lowerFile(flags));
      if (flags.out === null) await writeOut(svg);
      else await writeFileWhole(flags.out, new TextEncoder().encode(svg));
      return DONE;
    }
  }
}

function report(error: unknown): number {
  if (error instanceof UsageError) {
    say(`error: ${error.message}`);
    say(`usage: ${usage(error.command)}`);
    return WRONG_USAGE;
  }
  if (error instanceof FileError || error instanceof GanglionError) {
    say(error.message);
    return AT_FAULT;
  }
  say("serq: this is a fault of serq itself, please report it:");
  say(error instanceof Error ? error.stack ?? error.message : String(error));
  return AT_FAULT;
}

exit(await main(programArguments()).catch(report));
