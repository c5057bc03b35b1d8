/** The suites that every executor must pass, by name, so that another process can be told which to run. */
import { fixtureCases } from "../conformance/fixture_cases.ts";
import { frameworkCases } from "../conformance/framework_cases.ts";
import { layerCases } from "../conformance/layer_cases.ts";
import { modelCases } from "../conformance/model_cases.ts";
import { peersCases } from "../conformance/peers_cases.ts";
import { randomNirCases } from "../conformance/random_nir.ts";
import { sharedCases } from "../conformance/shared_cases.ts";
import { interleavedCases } from "../scheduler/interleaved_case.ts";
import { SERVER } from "../scheduler/server_cases.ts";
import { traceCases } from "../conformance/trace_cases.ts";
import { CONTRACT, type ContractCase } from "../contract/cases.ts";
import { STATES } from "../contract/state_cases.ts";
import { choiceCases } from "../engine/choice_cases.ts";

export const SUITES = {
  contract: () => [...CONTRACT, ...STATES],
  server: () => [...SERVER, ...interleavedCases()],
  conformance: () => [
    ...fixtureCases(),
    ...sharedCases(),
    ...layerCases(),
    ...modelCases(),
    ...traceCases(),
    ...frameworkCases(),
  ],
  choices: choiceCases,
  peers: peersCases,
  random: randomNirCases,
} satisfies Record<string, () => readonly ContractCase[]>;

export type SuiteName = keyof typeof SUITES;
