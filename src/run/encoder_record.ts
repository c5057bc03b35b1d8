/** An encoder in `run.json`: `{ "kind": "latency", "steps": 25 }` with its parameters, checked by hand. */
import type { Encoder } from "./encoders.ts";
import type { FieldReader } from "../base/field_reader.ts";

const STEPS_MAX = 1_000_000;
const AXES_MAX = 32;
const LATENCY_THRESHOLD = 0.01;

/** Parameters of each kind beside `kind`. */
const PARAMETERS = {
  events: ["timeAxis"],
  direct: ["steps"],
  latency: ["steps", "threshold"],
  delta: ["threshold", "offSpikes", "timeAxis"],
  rate: ["steps", "seed"],
} as const;

export const ENCODER_KINDS = Object.keys(PARAMETERS) as readonly Encoder["kind"][];

export function readEncoder(fields: FieldReader): Encoder {
  const kind = fields.choice("kind", ENCODER_KINDS);
  fields.only(["kind", ...PARAMETERS[kind]], `an encoder of kind ${kind}`);
  const steps = (): number => fields.whole("steps", 1, STEPS_MAX);
  const timeAxis = (): number => fields.whole("timeAxis", 0, AXES_MAX, 0);
  switch (kind) {
    case "events":
      return { kind, timeAxis: timeAxis() };
    case "direct":
      return { kind, steps: steps() };
    case "latency":
      return { kind, steps: steps(), threshold: fields.number("threshold", LATENCY_THRESHOLD) };
    case "delta": {
      const threshold = fields.number("threshold");
      if (!(threshold > 0)) throw fields.wrong("threshold", "must be above 0");
      return { kind, threshold, offSpikes: fields.flag("offSpikes", false), timeAxis: timeAxis() };
    }
    case "rate":
      return { kind, steps: steps(), seed: fields.whole("seed", 0, Number.MAX_SAFE_INTEGER, 0) };
  }
}

/** `rate:steps=25,seed=7` of the command line as the fields of an encoder. */
export function encoderFields(text: string): Record<string, unknown> {
  const [kind = "", parameters = ""] = text.split(/:(.*)/s, 2);
  const pairs = parameters.split(",").filter(Boolean).map((pair): [string, unknown] => {
    const [name = "", value = ""] = pair.split(/=(.*)/s, 2);
    if (value === "true" || value === "false") return [name.trim(), value === "true"];
    return [name.trim(), value.trim() === "" ? value : Number(value)];
  });
  return { kind, ...Object.fromEntries(pairs) };
}
