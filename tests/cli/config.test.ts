/** Flags and variables → settings. */
import { describe, expect, test } from "bun:test";
import { GanglionError } from "../../src/base/errors.ts";
import {
  ASKING,
  environmentName,
  type FlagName,
  FLAGS,
  limitsOf,
  readSettings,
  unknownVariables,
} from "../../src/config.ts";

const ALL = Object.keys(FLAGS) as FlagName[];

function refusal(argv: string[], env: Record<string, string> = {}): string {
  try {
    readSettings(ALL, argv, env);
  } catch (error) {
    expect((error as GanglionError).code).toBe("usage");
    return (error as GanglionError).message;
  }
  throw new Error("it was taken");
}

describe("settings", () => {
  test("a flag wins over its variable, the variable over the default", () => {
    const env = { GANGLION_SLOTS: "5", GANGLION_FRAME: "7", GANGLION_IF_GAIN: "r_dt" };
    const { settings, sources } = readSettings(ALL, ["--slots", "3"], env);
    expect([settings.slots, settings.frame, settings.port]).toEqual([3, 7, 8787]);
    expect(settings["if-gain"]).toBe("r_dt");
    expect([sources.get("slots"), sources.get("frame"), sources.get("port")])
      .toEqual(["flag", "environment", "default"]);
    expect(Object.isFrozen(settings)).toBe(true);
  });

  test("every flag has a variable, but those that ask for something", () => {
    const values: Partial<Record<FlagName, string>> = {
      limit: "ttlSeconds=7",
      discretization: "exact",
      compare: "ge",
      reset: "zero",
      device: "cpu",
      "if-gain": "r",
      "cuba-order": "old",
      readout: "mean",
      dialect: "sinabs",
      gain: "unit",
      spikes: "many",
      form: "box",
      late: "spikes",
      synapse: "before",
      rest: "v_leak",
      clamp: "on",
      log: "json",
    };
    for (const name of ALL) {
      const given = values[name] ?? "1";
      const { sources } = readSettings(ALL, [], { [environmentName(name)]: given });
      expect([name, sources.get(name)])
        .toEqual([name, ASKING.includes(name) ? "default" : "environment"]);
    }
  });

  test("an empty variable counts as none", () => {
    expect(readSettings(ALL, [], { GANGLION_SLOTS: "" }).settings.slots).toBe(8);
  });

  test("words, lists, and what is no flag", () => {
    const argv = ["a.nir", "--name=x", "--name", "y,z", "-o", "out.npy", "--", "--slots"];
    const { settings, positionals } = readSettings(ALL, argv, { GANGLION_STRICT: "0" });
    expect(settings.name).toEqual(["x", "y", "z"]);
    expect(settings.output).toBe("out.npy");
    expect(settings.strict).toBe(false);
    expect(positionals).toEqual(["a.nir", "--slots"]);
  });

  test("limits", () => {
    const argv = ["--limit", "ttlSeconds=9", "--limit", "bodyBytesMax=77", "--slots", "2"];
    const { settings } = readSettings(ALL, argv, {});
    const { ttlSeconds, bodyBytesMax, slots, frame } = limitsOf(settings);
    expect([ttlSeconds, bodyBytesMax, slots, frame]).toEqual([9, 77, 2, 10]);
  });

  test("wrong words are refused with what would be right", () => {
    const cases: (readonly [string[], Record<string, string>?])[] = [
      [["--slot", "3"]],
      [["--slots"]],
      [["--slots", "--frame", "3"]],
      [["--slots", "0"]],
      [["--slots", "1e3"]],
      [["--slots", "-1"]],
      [["--frame", "257"]],
      [["--port", "65536"]],
      [["--dt", "0"]],
      [["--dt", "-1e-4"]],
      [["--dt", "fast"]],
      [["--device", "gpu"]],
      [["--reset", "soft"]],
      [["--strict=maybe"]],
      [["--limit", "ttl=3"]],
      [["--limit", "ttlSecond=3"]],
      [["--limit", "ttlSeconds=x"]],
      [[], { GANGLION_PORT: "http" }],
      [["-x"]],
    ];
    expect(cases.map(([argv, env]) => refusal(argv, env)).join("\n")).toMatchInlineSnapshot(`
      "There is no flag --slot; did you mean --slots?
      --slots needs a value, --slots N: sessions that hold a slot at once (1 to 65535)
      --slots needs a value, --slots N: sessions that hold a slot at once (1 to 65535)
      --slots takes a whole number from 1 to 65535, not "0"
      --slots takes a whole number from 1 to 65535, not "1e3"
      --slots takes a whole number from 1 to 65535, not "-1"
      --frame takes a whole number from 1 to 256, not "257"
      --port takes a whole number from 0 to 65535, not "65536"
      --dt takes a positive number of seconds, not "0"
      --dt takes a positive number of seconds, not "-1e-4"
      --dt takes a positive number of seconds, not "fast"
      --device takes auto, webgpu, cpu, not "gpu"
      --reset takes v_reset, zero, subtract, subtract_next, none, not "soft"
      --strict takes 1 or 0, not "maybe"
      --limit knows no limit "ttl"
      --limit knows no limit "ttlSecond"; did you mean ttlSeconds?
      --limit of ttlSeconds takes a whole number from 0 to 2147483648, not "ttlSeconds=x"
      GANGLION_PORT takes a whole number from 0 to 65535, not "http"
      There is no flag -x"
    `);
  });

  test("a flag of another command is told apart from one that is none", () => {
    expect(() => readSettings(["json"], ["--slots", "3"], {}))
      .toThrow("--slots is not a flag of this command");
  });

  test("a flag without its value says what it is", () => {
    expect(refusal(["--plot"])).toMatch(/^--plot needs a value, --plot FILE\.html: writes a page/);
  });

  test("a command's own defaults hold where nobody says otherwise", () => {
    const read = (...argv: string[]) => readSettings(["slots"], argv, {}, { slots: 64 });
    expect([read(), read("--slots", "3")].map(({ settings }) => settings.slots)).toEqual([64, 3]);
    expect(read().sources.get("slots")).toBe("default");
  });

  test("a secret is never in a message", () => {
    const { settings } = readSettings(ALL, ["--api-key", "hush,hush2"], {});
    expect(settings["api-key"]).toEqual(["hush", "hush2"]);
  });

  test("a variable that sets nothing is noticed", () => {
    expect(unknownVariables({ GANGLION_SLOT: "3", GANGLION_RUNTIME: "bun", HOME: "/" }))
      .toEqual(["GANGLION_SLOT sets nothing; did you mean GANGLION_SLOTS?"]);
  });
});
