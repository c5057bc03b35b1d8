/**
 * The seventy public reports about NIR and streaming in other frameworks that this project collected:
 * each that can be said as a file is a fixture here, named by its number; the file loads with the right
 * value or is refused by a message that names node, field and remedy. The others, with the reason, are
 * `PEER_REMARKS`. `tools/gen_peers_doc.ts` writes docs/peers.md from both.
 */
import type { ConformanceCase } from "./run.ts";
import { GRAPH_CASES } from "./peers/graph_cases.ts";
import { IMPORT_CASES } from "./peers/import_cases.ts";
import { STATE_CASES } from "./peers/state_cases.ts";
import type { PeerCase, PeerRemark } from "./peers/support.ts";

export const PEER_CASES: readonly PeerCase[] = [...IMPORT_CASES, ...GRAPH_CASES, ...STATE_CASES];

export const PEER_REMARKS: readonly PeerRemark[] = [
  {
    report: 45,
    source: "lava-dl#217, PR#218",
    why: "a wish for NIR support, with nothing to load",
  },
  {
    report: 50,
    source: "lava-dl#92",
    why:
      "accuracy of a whole model after loading: the digits test set, class for class the Python " +
      "framework's, in `tests/e2e/digits.test.ts`",
  },
  {
    report: 51,
    source: "spikingjelly#323",
    why: "no reset between samples: a session's life, not a file; contract 3.4 and 3.7 in " +
      "`tests/contract/cases.ts` reuse slots, and report 53 here opens twice",
  },
  {
    report: 52,
    source: "spikingjelly#369",
    why: "sessions opened and closed between steps: `tests/scheduler/server_cases.ts` and the " +
      "scheduler simulation",
  },
  {
    report: 56,
    source: "spikingjelly PR#717",
    why:
      "a refractory counter: no NIR node has one, and a file with such a field is refused (report 26)",
  },
  {
    report: 58,
    source: "sinabs PR#75, PR#113",
    why: "batch size changes between calls: as report 52",
  },
  {
    report: 65,
    source: "jeshraghian/snntorch#366",
    why: "a noisy neuron: no NIR node has noise, and nothing served is random",
  },
];

export function peersCases(): ConformanceCase[] {
  return PEER_CASES.map(({ report, source, what, run }) => ({
    name: `report ${report} (${source}): ${what}`,
    run,
  }));
}
