/**
 * Random serQ texts in numbers too large for the gate. Prints a Markdown page; `npm run campaign:serq`
 * keeps it in docs/campaigns/serq.md.
 */
import process from "node:process";
import fc from "fast-check";
import { nextTurn } from "../../src/base/clock.ts";
import { print } from "../../src/serq/mod.ts";
import { countsFrom, headLine, progress, stopFlag } from "../support/campaign.ts";
import { changed, compileOrRefuse, damaged, printAndParse, runIfAccepted } from "./properties.ts";
import { program } from "./trees.ts";

/** Texts that are tried at once, under one seed; between rounds a signal is heard. */
const ROUND = 500;
const FIRST_SEED = 1;

const counts = countsFrom({ programs: 20_000, mutations: 100_000, grammar: 25_000, runs: 20_000 });
const began = headLine("npm run campaign:serq");
const stopped = stopFlag();
const rows: string[] = [];
const failures: string[] = [];

async function tryMany<T>(
  what: string,
  texts: fc.Arbitrary<T>,
  count: number,
  outcomeOf: (text: T) => string,
): Promise<void> {
  const tally = new Map<string, number>();
  const say = progress(what, 20 * ROUND);
  let tried = 0;
  for (let seed = FIRST_SEED; tried < count && !stopped(); seed += 1) {
    const property = fc.property(texts, (text) => {
      const outcome = outcomeOf(text);
      tally.set(outcome, (tally.get(outcome) ?? 0) + 1);
    });
    const numRuns = Math.min(ROUND, count - tried);
    const round = fc.check(property, { numRuns, seed, endOnFailure: true });
    tried += round.numRuns;
    if (round.failed) {
      const { counterexample, errorInstance } = round;
      failures.push(`${what}, seed ${seed}: ${JSON.stringify(counterexample)}: ${errorInstance}`);
    }
    say(tried);
    await nextTurn();
  }
  const outcomes = [...tally].sort(([, a], [, b]) => b - a).map(([name, n]) => `${n} ${name}`);
  rows.push(`| ${what} | ${tried} | ${outcomes.join(", ")} |`);
}

const { programs, mutations, grammar, runs } = counts;
await tryMany("random trees, printed and parsed", program, programs, printAndParse);
await tryMany("damaged texts, compiled", damaged, mutations, compileOrRefuse);
await tryMany("random trees, compiled", program, grammar, (tree) => compileOrRefuse(print(tree)));
await tryMany("programs with tokens changed, run", changed, runs, runIfAccepted);

const head = `${began}: ${failures.length} failures.`;
console.log(`# Random serQ programs

${head}
Random syntax trees hold every construct of the grammar; damaged texts are programs of ours with one to
three places cut, overwritten or added to; in the last row numbers and names of programs that run were
replaced. Printing a tree must lose nothing. Compiling must end in a program or in a refusal with its
place in the text. What is accepted must run, with nothing leaked at any event, or fail with an error of
the run.

| what | tried | outcomes |
|---|---|---|
${rows.join("\n")}
${failures.length === 0 ? "" : `\n${failures.map((line) => `- ${line}`).join("\n")}\n`}`);
process.exit(failures.length === 0 ? 0 : 1);
