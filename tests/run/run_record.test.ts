/** `run.json`: what is taken, what is refused and how it is said, and that writing gives it back. */
import { describe, expect, test } from "bun:test";
import { encoderFields, parseRun, type RunRecord, writeRun } from "../../src/run/mod.ts";

const full: RunRecord = {
  model: "net.nir",
  variables: "best.safetensors",
  encoder: { kind: "delta", threshold: 0.5, offSpikes: true, timeAxis: 1 },
  readout: "softmax_sum",
  labels: ["left", "right"],
  dt: 1e-3,
  frame: 20,
  call: { "fc.bias": [[0, 1]], "lif.v_threshold": 0.5 },
  options: { discretization: "exact", strict: true, cut: [["a", "b"]] },
};

test("a record that is written is read back", () => {
  expect(parseRun(writeRun(full))).toEqual(full);
  const { encoder, ...rest } = full;
  const text = writeRun({ ...rest, encoder });
  expect(text).toStartWith('{\n  "version": 1,\n  "model": "net.nir",');
  expect(parseRun("{}")).toEqual({ model: "model.nir", encoder: { kind: "events", timeAxis: 0 } });
});

test("encoders take their defaults", () => {
  const read = (encoder: object) => parseRun(JSON.stringify({ encoder })).encoder;
  expect(read({ kind: "latency", steps: 5 })).toEqual({
    kind: "latency",
    steps: 5,
    threshold: 0.01,
  });
  expect(read({ kind: "rate", steps: 5 })).toEqual({ kind: "rate", steps: 5, seed: 0 });
  expect(read({ kind: "delta", threshold: 1 }))
    .toEqual({ kind: "delta", threshold: 1, offSpikes: false, timeAxis: 0 });
  expect(read(encoderFields("rate:steps=25,seed=7"))).toEqual({ kind: "rate", steps: 25, seed: 7 });
  expect(read(encoderFields("delta:threshold=0.1,offSpikes=true")))
    .toEqual({ kind: "delta", threshold: 0.1, offSpikes: true, timeAxis: 0 });
});

describe("what is wrong is said by field", () => {
  const cases: readonly (readonly [text: string, said: RegExp])[] = [
    ["{", /^x\/run\.json is not JSON: /],
    ["[]", /^x\/run\.json: it must be an object, not \[\]$/],
    ['{"readuot":"sum"}', /"readuot" is no field of a run; did you mean "readout"\?/],
    ['{"colour":1}', /"colour" is no field of a run; it has version, model, /],
    ['{"version":2}', /"version" must be 1, the newest that is known, not 2/],
    ['{"class":"a:B","fields":{}}', /record of a Python program.*docs\/runs\.md/],
    ['{"model":"../a.nir"}', /"model" must be the name of a file in the same folder, not "\.\./],
    ['{"model":".."}', /"model" must be the name of a file/],
    ['{"model":7}', /"model" must be the name of a file in the same folder, not 7/],
    ['{"variables":"a/b"}', /"variables" must be the name of a file/],
    ['{"encoder":"rate"}', /"encoder" must be an object, not "rate"/],
    ['{"encoder":{}}', /"encoder\.kind" must be events, direct, .*, and is missing/],
    ['{"encoder":{"kind":"rates"}}', /"encoder\.kind" .* not "rates"; did you mean "rate"\?/],
    ['{"encoder":{"kind":"rate"}}', /"encoder\.steps" must be a whole number from 1 .* missing/],
    ['{"encoder":{"kind":"rate","steps":0}}', /"encoder\.steps" must be a whole number .* not 0/],
    ['{"encoder":{"kind":"rate","steps":2,"seed":-1}}', /"encoder\.seed" must be a whole number/],
    ['{"encoder":{"kind":"direct","steps":2,"seed":1}}', /"encoder\.seed" is no field of an enco/],
    ['{"encoder":{"kind":"delta"}}', /"encoder\.threshold" must be a number, and is missing/],
    ['{"encoder":{"kind":"delta","threshold":0}}', /"encoder\.threshold" must be above 0, not 0/],
    ['{"encoder":{"kind":"delta","threshold":1,"offSpikes":1}}', /"encoder\.offSpikes" must be t/],
    ['{"encoder":{"kind":"events","timeAxis":0.5}}', /"encoder\.timeAxis" must be a whole number/],
    ['{"readout":"last"}', /"readout" must be max, sum, mean, softmax_sum, not "last"/],
    ['{"labels":["a",1]}', /"labels" must be a list of texts, not \["a",1\]/],
    ['{"labels":[]}', /"labels" must hold 1 to /],
    ['{"dt":"1e-3"}', /"dt" must be a number, not "1e-3"/],
    ['{"dt":0}', /"dt" must be a positive number of seconds, not 0/],
    ['{"frame":257}', /"frame" must be a whole number from 1 to 256, not 257/],
    ['{"call":[1]}', /"call" must be an object/],
    ['{"call":{"a.b":"c"}}', /"call\.a\.b" must be a number or nested lists of numbers, not "c"/],
    ['{"options":{"resets":"zero"}}', /"options\.resets" is no field .* mean "reset"\?/],
    ['{"options":{"reset":1}}', /"options\.reset" must be a word, not 1/],
    ['{"options":{"strict":"yes"}}', /"options\.strict" must be true or false/],
    ['{"options":{"cut":["a:b"]}}', /"options\.cut" must be a list of pairs/],
  ];
  test.each(cases.map(([text, said]) => [text, said] as const))("%s", (text, said) => {
    expect(() => parseRun(text, "x/run.json")).toThrow(said);
  });
});
