/**
 * Mutated `.nir` files in numbers too large for the gate. Prints a Markdown page; `npm run
 * campaign:mutation` keeps it in docs/campaigns/mutation.md.
 */
import process from "node:process";
import { countsFrom, headLine, progress, stopFlag } from "../support/campaign.ts";
import { childrenNow, isDangerous, isolatedVerdict, tryMutants, type Verdict } from "./mutation.ts";

/** Past the gate's seeds. */
const FIRST = 100_000;
/** Mutants that one round hands to a child; between rounds a signal is heard. */
const ROUND = 500;
const PATIENCE_MS = 5_000;
const DEADLINE_SECONDS = 5;
/** Of the mutants that a plain process reads without harm, one in so many is read isolated too. */
const SAMPLE_EVERY = 40;
const AT_ONCE = 2;

const { mutants } = countsFrom({ mutants: 20_000 });
const began = headLine("npm run campaign:mutation");
const before = childrenNow();
const stopped = stopFlag();
const say = progress("mutants", ROUND);
const verdicts: Verdict[] = [];
const failures: string[] = [];
const isolated = new Map<string, number>();
let longest = 0;

async function isolate({ seed, outcome, trapped }: Verdict): Promise<void> {
  const dangerous = isDangerous({ seed, outcome, trapped });
  const begin = performance.now();
  const verdict = await isolatedVerdict(seed, dangerous ? DEADLINE_SECONDS : 60);
  longest = Math.max(longest, performance.now() - begin);
  const wanted = ["ran", "large"].includes(outcome) ? "read" : outcome;
  const key = `${dangerous ? (trapped ? "trapped" : outcome) : "sample"}: ${verdict}`;
  isolated.set(key, (isolated.get(key) ?? 0) + 1);
  const right = dangerous ? verdict === "read" || verdict.startsWith("model_") : verdict === wanted;
  if (!right) failures.push(`mutant ${seed}: ${outcome} here, ${verdict} isolated`);
}

while (verdicts.length < mutants && !stopped()) {
  const from = FIRST + verdicts.length;
  const count = Math.min(ROUND, mutants - verdicts.length);
  const round = await tryMutants({ from, count, patienceMs: PATIENCE_MS });
  verdicts.push(...round);
  failures.push(
    ...round.filter(({ outcome }) => outcome.startsWith("crash"))
      .map(({ seed, outcome }) => `mutant ${seed}: ${outcome}`),
  );
  const again = round.filter((each) => isDangerous(each) || each.seed % SAMPLE_EVERY === 0);
  for (let i = 0; i < again.length; i += AT_ONCE) {
    await Promise.all(again.slice(i, i + AT_ONCE).map(isolate));
  }
  say(verdicts.length);
}
const left = [...childrenNow()].filter((pid) => !before.has(pid));
if (left.length > 0) failures.push(`processes left behind: ${left.join(", ")}`);

const tally = new Map<string, number>();
for (const { outcome, trapped } of verdicts) {
  const key = trapped ? `${outcome}, after a trap` : outcome;
  tally.set(key, (tally.get(key) ?? 0) + 1);
}
const rows = (map: ReadonlyMap<string, number>) =>
  [...map].sort(([, a], [, b]) => b - a).map(([key, count]) => `| ${key} | ${count} |`).join("\n");
console.log(`# Mutated files

${began}: ${verdicts.length} mutants, ${failures.length} failures.
Half have changed bytes (bits, words, stretches, cuts), half are sound HDF5 with wrong content (groups
cut or moved, other types, huge numbers and shapes, deep nesting, links). A plain process read and
compiled each, and ran those that compiled on the CPU executor and the reference, which had to agree:

| in a plain process | mutants |
|---|---|
${rows(tally)}

*hung*: silent for ${PATIENCE_MS / 1000} s; *grew*: past 768 MiB; *died*: ended by itself. All of
these, all that trapped, and one in ${SAMPLE_EVERY} of the others were read again as untrusted files
are, by \`readNirIsolated\` (deadline ${DEADLINE_SECONDS} s for the dangerous ones); the longest took
${(longest / 1000).toFixed(1)} s, and ${left.length} processes were left behind:

| in a plain process: isolated | mutants |
|---|---|
${rows(isolated)}
${failures.length === 0 ? "" : `\n${failures.map((line) => `- ${line}`).join("\n")}\n`}`);
process.exit(failures.length === 0 ? 0 : 1);
