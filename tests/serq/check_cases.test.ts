/** The hand-derived cases of the language: values, and refusals with their words and places. */
import { describe, expect, test } from "bun:test";
import { compile, Interpreter, reportOf, RunError, SerqError } from "../../src/serq/mod.ts";
import { type Case, CASES } from "./corpus.ts";

/** Cases that the original decides otherwise than their derivation (docs/serq_differences.md). */
const OTHERWISE: Readonly<Record<string, string>> = {
  "e-end-in-server": "the original lets a server end the session",
  "rng-session-stream": "the original mixes a substream's seed in another way",
};

/** Longer runs belong to the tests of queueing theory. */
const HORIZON_MAX = 20_000;

function run({ source, settings, files = {} }: Case): Interpreter {
  const corpus = Object.values(files).map(readTrace);
  const program = compile(source, { ...settings, horizon: settings.horizon ?? null });
  const interpreter = new Interpreter(program, corpus.length === 0 ? {} : { corpus: corpus[0]! });
  interpreter.run();
  return interpreter;
}

/** The columns of a trace, session by session. */
function readTrace(text: string) {
  const [, ...rows] = text.trim().split("\n").map((line) => line.split(","));
  const sessions = new Map<string, { new: number; out: number; think: number; forced: number }[]>();
  for (const [session, , fresh, out, think, forced] of rows) {
    const turns = sessions.get(session!) ?? [];
    turns.push({
      new: Number(fresh),
      out: Number(out),
      think: Number(think),
      forced: Number(forced ?? 0),
    });
    sessions.set(session!, turns);
  }
  return [...sessions.values()];
}

describe.skipIf(CASES.length === 0)("cases.json", () => {
  for (const each of CASES) {
    test(each.id, () => {
      if (each.id in OTHERWISE || (each.settings.horizon ?? 0) > HORIZON_MAX) return;
      if (each.kind === "run") checkRun(each);
      else checkError(each);
    });
  }
});

function checkRun(each: Case): void {
  const interpreter = run(each);
  const report = reportOf(interpreter);
  for (const [name, wanted] of Object.entries(each.expect.observes ?? {})) {
    const found = interpreter.machine.observations.find((o) => o.name === name);
    const values = [...found?.values.values() ?? []];
    expect([name, values.length]).toEqual([name, wanted.length]);
    values.forEach((value, i) => {
      expect(Math.abs(value - wanted[i]!)).toBeLessThanOrEqual(
        1e-9 * Math.max(1, Math.abs(wanted[i]!)),
      );
    });
  }
  expect(report.events).toBeGreaterThanOrEqual(0);
}

function checkError(each: Case): void {
  const wanted = each.expect.error!;
  const error = refusal(each);
  for (const piece of wanted.contains) expect(error.message).toContain(piece);
  if (error instanceof SerqError) {
    expect(error.phase).toBe(wanted.phase as "parse" | "link");
    if (wanted.line !== undefined && error.at !== null) {
      const { line, column } = error.at.source.place(error.at.start);
      expect([line, wanted.col === undefined ? undefined : column]).toEqual([
        wanted.line,
        wanted.col,
      ]);
    }
  } else expect(wanted.phase).toBe("run");
}

/** The error, with help and notes in its message. */
function refusal(each: Case): Error {
  try {
    run(each);
  } catch (error) {
    if (error instanceof RunError) return error;
    if (!(error instanceof SerqError)) throw error;
    error.message = [error.message, ...error.notes, error.help ?? ""].join("\n");
    return error;
  }
  throw new Error(`${each.id} was not refused`);
}
