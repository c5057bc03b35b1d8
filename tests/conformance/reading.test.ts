/** The verdicts of the reference cases: which real files a strict reader takes, and which not. */
import { expect, test } from "bun:test";
import { compilePlan, readNirBytes } from "../../src/model/mod.ts";
import { fails, sharedFile } from "../model/helpers.ts";

interface Verdict {
  readonly file: string;
  readonly strict: "accept" | "refuse";
  readonly why: string;
}

const bytes = sharedFile("research/snn/cases.json");

if (bytes !== null) {
  const { cases } = JSON.parse(new TextDecoder().decode(bytes)) as {
    cases: { id: string; expected: readonly Verdict[] }[];
  };
  const verdicts = cases.find(({ id }) => id === "real_file_verdicts")!.expected;

  test.each(verdicts.map((verdict) => [verdict.file, verdict] as const))(
    "%s",
    async (file, { strict }) => {
      const graph = await readNirBytes(sharedFile(`nir/${file}`)!);
      const read = () => compilePlan(graph, { strict: true });
      if (strict === "accept") expect(read().digest).toHaveLength(64);
      else await fails(read, "model_invalid");
      // Every refused file has one reading, which is taken when strict is off.
      expect(compilePlan(graph).digest).toHaveLength(64);
    },
  );
}
