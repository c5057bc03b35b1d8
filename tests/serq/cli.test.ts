/** The command `serq` as a person runs it: what it prints, and its exit codes. */
import { afterAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../../bin/launch.mjs";
import { readFlags } from "../../src/cli/serq_flags.ts";
import { IR_VERSION } from "../../src/serq/mod.ts";

const folder = mkdtempSync(join(tmpdir(), "serq-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const MODEL = readFileSync(join(ROOT, "examples/serq/seed.sq"), "utf8");
const ARGUMENTS = `use "std/args";
fn main() {
  let w = args.number("work", 3);
  stage svc : fifo;
  workload { arrive batch(1); }
  server { run svc (cost(svc, w)); observe done = now; }
}
`;

const POISSON = "fn main() { stage d : delay; workload { arrive poisson(1); } " +
  "server { run d (cost(d, 1)); observe o = now; } }";

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return name;
}

write("m.sq", MODEL);
write("args.sq", ARGUMENTS);

function serq(...args: string[]) {
  const launcher = join(ROOT, "bin/serq.mjs");
  const options = {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1" },
  } as const;
  const { status, stdout, stderr } = spawnSync("node", [launcher, ...args], options);
  return { status, stdout, stderr };
}

const SEED_REPORT =
  `run: horizon 10 end 10 warmup 0 seed 1 events 4 arrivals 1 ended 1 turns 1 mean live 0.600

observe   count    mean  95% CI  cv2     p99
--------  -----  ------  ------  ---  ------
finished      1  6.0000    ±inf  NaN  6.0000

stage  number   util  done    thru    wait  service  iters
-----  ------  -----  ----  ------  ------  -------  -----
llm     0.300  0.300     2  0.2000  0.0000   1.5000      3
tool    0.300  0.300     1  0.1000  0.0000   3.0000      0
`;

describe("serq run", () => {
  for (const runtime of ["deno", "bun"]) {
    test(`the seed's program finishes at 6, on ${runtime}`, () => {
      const { status, stdout } = serq("--runtime", runtime, "run", "m.sq", "--horizon", "10");
      expect(status).toBe(0);
      expect(stdout).toStartWith(SEED_REPORT);
    });
  }

  test("the report as JSON, and the iterations", () => {
    const { stdout } = serq("run", "m.sq", "--horizon", "10", "--json");
    const report = JSON.parse(stdout) as Record<string, never>;
    expect(report.observes).toMatchObject({ finished: { count: 1, mean: 6, ci: null, p99: 6 } });
    const traced = serq("run", "m.sq", "--horizon", "10", "--iterations").stdout.split("\n");
    expect(traced.slice(0, 3)).toEqual([
      "0 llm 1 0:prefill:8",
      "1 llm 1 0:decode:1",
      "2 llm 1 0:decode:1",
    ]);
    const both = serq("run", "m.sq", "--horizon", "10", "--json", "--iterations").stdout;
    const { iterations, ...rest } = JSON.parse(both);
    expect(rest).toEqual(report);
    const batch = (mode: string, tokens: number) => [{ session: 0, mode, tokens }];
    expect(iterations).toEqual([
      { start: 0, engine: "llm", duration: 1, batch: batch("prefill", 8) },
      { start: 1, engine: "llm", duration: 1, batch: batch("decode", 1) },
      { start: 2, engine: "llm", duration: 1, batch: batch("decode", 1) },
    ]);
  });

  for (const runtime of ["deno", "bun"]) {
    test(`--dump writes observations and gauges, on ${runtime}`, () => {
      const gauge = "gauge busy_tool = busy(tool); gauge third = busy(tool) / 3;";
      write("gauges.sq", MODEL.replace(/\}\s*$/, `${gauge} }`));
      const into = `dump/${runtime}`;
      const run = ["--runtime", runtime, "run", "gauges.sq", "--horizon", "10"];
      const { status, stdout } = serq(...run, "--dump", into);
      expect([status, stdout]).toEqual([0, serq(...run).stdout]);
      const file = (name: string) => readFileSync(join(folder, into, name), "utf8");
      expect(readdirSync(join(folder, into)).sort()).toEqual(["finished.csv", "gauge"]);
      expect(file("finished.csv")).toBe("time,session,turn,value\n6,0,1,6\n");
      expect(file("gauge/busy_tool.csv")).toBe("time,value\n0,0\n3,1\n6,0\n");
      expect(file("gauge/third.csv")).toBe("time,value\n0,0\n3,0.3333333333333333\n6,0\n");
      expect(serq(...run, "--dump", "gauges.sq")).toEqual({
        status: 1,
        stdout: "",
        stderr: "gauges.sq is there already, and is no folder\n",
      });
    });
  }

  test("--dump without the warm-up, with more lines than it writes at once", () => {
    write("many.sq", POISSON);
    const run = ["run", "many.sq", "--horizon", "30000", "--warmup", "5000", "--json"];
    const { observes } = JSON.parse(serq(...run, "--dump", "many").stdout);
    const [head, ...lines] = readFileSync(join(folder, "many/o.csv"), "utf8").trimEnd().split("\n");
    const rows = lines.map((line) => line.split(",").map(Number));
    expect(head).toBe("time,session,turn,value");
    expect(rows.length).toBe(observes.o.count);
    expect(rows.length).toBeGreaterThan(20_000);
    expect(rows.every(([time, , turn, value]) => time! >= 5000 && turn === 1 && value === time))
      .toBe(true);
    expect(new Set(rows.map(([, session]) => session)).size).toBe(rows.length);
  });

  test("inputs after --, with --set and from an instance", () => {
    write("i.txt", "let work = 2 * 4;\nrun { horizon 20; }\n");
    const done = (...args: string[]) => {
      const { stdout } = serq("run", "args.sq", "--json", ...args);
      return (JSON.parse(stdout) as { observes: { done: { mean: number } } }).observes.done.mean;
    };
    expect(done("--horizon", "10")).toBe(3);
    expect(done("--horizon", "10", "--", "--work", "5")).toBe(5);
    expect(done("--horizon", "10", "--set", "work=2+2")).toBe(4);
    expect(done("--instance", "i.txt")).toBe(8);
    expect(done("--instance", "i.txt", "--", "--work=1")).toBe(1);
    const { status, stderr } = serq("run", "args.sq", "--horizon", "10", "--", "--wrok", "5");
    expect(status).toBe(1);
    expect(stderr).toBe(
      "args.sq: unknown program argument `wrok`\nhelp: did you mean `work`?\n",
    );
  });

  test("a sweep and replications give tables", () => {
    const swept = serq("run", "args.sq", "--horizon", "10", "--sweep", "work=1:2:0.5");
    expect(swept.stdout).toBe(
      "work    done  done p99  svc util\n" +
        "----  ------  --------  --------\n" +
        "1     1.0000    1.0000    0.1000\n" +
        "1.5   1.5000    1.5000    0.1500\n" +
        "2     2.0000    2.0000    0.2000\n",
    );
    const text = ARGUMENTS.replace("cost(svc, w)", "cost(svc, ~exp(w))");
    write("random.sq", text);
    const { stdout } = serq("run", "random.sq", "--horizon", "10", "--replications", "4");
    expect(stdout).toMatch(/^replications: 4 seeds 1 to 4\n/);
    expect(stdout).toMatch(/^done +\d+\.\d{4} +±\d+\.\d{4}/m);
  });

  test("percentiles that were asked for, in the table, as JSON and in a sweep", () => {
    const text = MODEL.replace("batch(1)", "batch(3)").replace(
      "finished = now",
      "finished = serial",
    );
    write("three.sq", text);
    const run = ["run", "three.sq", "--horizon", "40", "--percentiles", "99.9, 50,50"];
    const { status, stdout } = serq(...run);
    expect(status).toBe(0);
    expect(stdout).toContain(
      "observe   count    mean  95% CI    cv2     p50   p99.9\n" +
        "--------  -----  ------  ------  -----  ------  ------\n" +
        "finished      3  1.0000    ±inf  1.000  1.0000  2.0000\n",
    );
    const { observes } = JSON.parse(serq(...run, "--json").stdout);
    expect(observes.finished).toMatchObject({ p99: 2, percentiles: { p50: 1, "p99.9": 2 } });
    const swept = ["run", "args.sq", "--horizon", "9", "--sweep", "work=1:2:1"];
    expect(serq(...swept, "--percentiles", "50").stdout).toStartWith("work    done  done p50  ");
    for (const wrong of ["50,x", "0", "101", ""]) {
      expect(() => readFlags(["run", "three.sq", `--percentiles=${wrong}`])).toThrow(
        `invalid value \`${wrong}\` for --percentiles: numbers above 0 and at most 100`,
      );
    }
  }, 20_000);

  test("a library, another body for a definition, a trace", () => {
    write("lib.sq", "def twice(x) { x * 2 }\n");
    write("t.csv", "session,turn,new,out,think\n7,2,20,3,0\n7,1,10,2,0.5\n9,1,5,1,0\n");
    write(
      "uses.sq",
      `use "lib.sq";
fn main() {
  stage d : delay;
  workload { arrive batch(2); trace "t.csv" ordered; session { turn; while (more) { turn; } } }
  server { run d (cost(d, 1)); observe n = twice(new); }
}
`,
    );
    const n = (...args: string[]) => {
      const { stdout, stderr } = serq("run", "uses.sq", "--horizon", "10", "--json", ...args);
      expect(stderr).toBe("");
      return (JSON.parse(stdout) as { observes: { n: { mean: number; count: number } } }).observes
        .n;
    };
    expect(n().mean).toBeCloseTo(70 / 3, 9);
    expect(n().count).toBe(3);
    expect(n("--def", "twice=7")).toMatchObject({ count: 3, mean: 7 });
  });
});

describe("serq check, ir, draw", () => {
  test("check counts", () => {
    const { status, stdout } = serq("check", "m.sq");
    expect([status, stdout]).toEqual([
      0,
      "OK: 0 pool(s), 2 stage(s), 9 attribute(s), 3 block(s)\n",
    ]);
  });

  test("ir is versioned JSON", () => {
    const { stdout } = serq("ir", "m.sq", "--horizon", "10");
    const ir = JSON.parse(stdout) as { version: number; horizon: number };
    expect(ir).toMatchObject({ version: IR_VERSION, horizon: 10 });
  });

  test("draw writes SVG", () => {
    const { status } = serq("draw", "m.sq", "--out", "m.svg");
    expect(status).toBe(0);
    const svg = readFileSync(join(folder, "m.svg"), "utf8");
    expect(svg).toStartWith("<svg ");
    for (const where of [["-o", "o.svg"], ["--output=o2.svg"]]) {
      expect(serq("draw", "m.sq", ...where).status).toBe(0);
      expect(readFileSync(join(folder, where.at(-1)!.replace(/^.*=/, "")), "utf8")).toBe(svg);
    }
    expect(serq("check", "m.sq", "-o", "o.svg").stderr).toContain("--out is not supported by");
    expect(serq("draw", "m.sq", "--out", "nowhere/m.svg")).toEqual({
      status: 1,
      stdout: "",
      stderr: "nowhere/m.svg cannot be written: the folder nowhere does not exist\n",
    });
  });

  test("a refused program: place, carets, help, exit code 1", () => {
    write("bad.sq", MODEL.replace("cost(llm, 8)", "cost(lm, 8)"));
    const { status, stdout, stderr } = serq("check", "bad.sq");
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toBe(
      "bad.sq: 17:27: link error: unknown pool or stage `lm`\n" +
        "17 |     run llm prefill (cost(lm, 8));\n" +
        "   |                           ^^\n" +
        "help: did you mean `llm`?\n",
    );
  });
});

describe("usage", () => {
  const WRONG: readonly (readonly [args: string, ...pieces: string[]])[] = [
    ["run", "missing FILE", "usage: serq run FILE"],
    ["frob m.sq", "unknown command `frob`"],
    ["run m.sq --horizon -1", "invalid value `-1` for --horizon", "finite positive"],
    ["run m.sq --warmup -1", "invalid value `-1` for --warmup", "finite nonnegative"],
    ["run m.sq --horizon 10 --bogus", "unknown option `--bogus`"],
    ["check m.sq --seed 1", "--seed is not supported by `check`"],
    ["run m.sq --seed", "missing value for --seed"],
    ["run m.sq --horizon 10 --seed x", "for --seed", "unsigned integer"],
    ["run m.sq --horizon 10 --arrivals 0", "for --arrivals", "positive integer"],
    ["run m.sq --horizon 10 --sweep work", "for --sweep", "NAME=EXPR"],
    ["run m.sq --horizon 10 --sweep work=3:1:1", "for --sweep", "A ≤ B"],
    ["run m.sq --horizon 10 -- work", "unexpected argument `work`"],
    ["run m.sq other.sq", "unexpected argument `other.sq`"],
    ["run m.sq --horizon 10 --json=yes", "--json takes no value"],
    ["run m.sq -j --horizon 10", "unknown option `-j`"],
    ["run m.sq --replications 2 --iterations", "--iterations is of one run", "--replications"],
    ["run m.sq --sweep work=1:2:1 --dump d", "--dump is of one run", "--sweep makes several"],
  ];
  for (const [args, ...pieces] of WRONG) {
    test(args, () => {
      const { status, stderr } = serq(...args.split(" "));
      expect(status).toBe(2);
      for (const piece of pieces) expect(stderr).toContain(piece);
    });
  }

  test("exit code 1: no horizon, no file", () => {
    expect(serq("run", "m.sq")).toMatchObject({ status: 1 });
    expect(serq("run", "m.sq").stderr).toContain("no horizon");
    const { status, stderr } = serq("run", "absent.sq", "--horizon", "10");
    expect([status, stderr]).toEqual([1, "absent.sq: cannot be read (no such file)\n"]);
  });

  test("version and help", () => {
    expect(serq("--version").stdout).toStartWith("serq ");
    expect(serq("--help")).toMatchObject({ status: 0 });
    expect(serq("--help").stdout).toContain("--replications N");
    for (const args of [["run", "--help"], ["draw", "m.sq", "-h"], ["help"]]) {
      expect(serq(...args)).toEqual(serq("--help"));
    }
  }, 20_000);
});
