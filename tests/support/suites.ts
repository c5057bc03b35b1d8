/** The suites that every executor must pass, by name, so that another process can be told which to run. */
import { fixtureCases } from "../conformance/fixture_cases.ts";
import { sharedCases } from "../conformance/shared_cases.ts";
import { CONTRACT, type ContractCase } from "../contract/cases.ts";

export const SUITES = {
  contract: () => CONTRACT,
  conformance: () => [...fixtureCases(), ...sharedCases()],
} satisfies Record<string, () => readonly ContractCase[]>;

export type SuiteName = keyof typeof SUITES;
