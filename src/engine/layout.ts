/**
 * Where everything lies on the device: pure arithmetic from a plan, before any buffer exists. All
 * offsets count u32 words unless a name says otherwise.
 */
import { GanglionError } from "../base/errors.ts";
import { wordsOf } from "../base/numeric.ts";
import type { Plan, PlanNode } from "../model/plan.ts";
import { ringOf } from "../model/row_state.ts";

/** Words before the rows in the upload buffer: the generation, and padding. */
export const UPLOAD_HEADER_WORDS = 4;
/** Words a row in the upload buffer: slot, steps, flags, old copy, new copy, input, padding. */
export const UPLOAD_ROW_WORDS = 8;
/** Words before a row's values in the output buffer: generation, steps, slot, padding. */
export const OUTPUT_HEADER_WORDS = 4;
/** Copies of each row: one that is committed, one that the step in flight writes. */
export const COPIES = 2;
/** Steps that a tile holds in scratch at most; spikes of a tile sit in registers meanwhile. */
const TILE_STEPS_MAX = 16;

/** Memory besides weights and state. A batch that needs more runs in several submits. */
export interface WorkingMemory {
  /** Bytes of values between layers. */
  readonly scratchBytesMax: number;
  /** Bytes of upload, and of output, a submit. */
  readonly transferBytesMax: number;
  /** Bytes of states a submit reads; more are read in several. */
  readonly stateBytesMax: number;
}

export const WORKING_MEMORY: WorkingMemory = {
  scratchBytesMax: 64 << 20,
  transferBytesMax: 64 << 20,
  stateBytesMax: 16 << 20,
};

export interface Layout {
  readonly plan: Plan;
  readonly slots: number;
  readonly frame: number;
  /** Steps a tile. */
  readonly tile: number;
  /** Rows one submit takes at most. */
  readonly rowsMax: number;
  /** Rows whose states one submit reads at most. */
  readonly statesMax: number;
  /** Words of one copy of a row's state. */
  readonly stateWords: number;
  /** Words of all delay rings of a row. */
  readonly ringWords: number;
  /** By node: first word of its ring within the row's rings, and the ring's length in steps. */
  readonly rings: ReadonlyMap<number, { offset: number; steps: number }>;
  /** Words of scratch a row. */
  readonly scratchWords: number;
  /** By node: first word of its values within the row's scratch. */
  readonly targets: readonly number[];
  /** By node: words of one step's values. */
  readonly widths: readonly number[];
  readonly inputWords: number;
  readonly inputBitWords: number;
}

/** Words of one time step of a node's values. */
export function widthOf(node: PlanNode): number {
  return node.kind === "spike" ? wordsOf(node.size) : node.size;
}

export interface LayoutOptions {
  readonly slots: number;
  readonly frame: number;
  readonly memory?: WorkingMemory;
}

export function layOut(plan: Plan, options: LayoutOptions): Layout {
  const { slots, frame, memory = WORKING_MEMORY } = options;
  const { scratchBytesMax, transferBytesMax, stateBytesMax } = memory;
  const widths = plan.nodes.map((node) => node.op.op === "input" ? 0 : widthOf(node));
  const stepWords = widths.reduce((sum, width) => sum + width, 0);
  const fitting = Math.floor(scratchBytesMax / 4 / stepWords);
  if (fitting < 1) {
    throw new GanglionError(
      "model_unsupported",
      `One time step of this model holds ${stepWords} values between layers, more than ` +
        `${scratchBytesMax / 4} fit`,
    );
  }
  const tile = Math.min(frame, TILE_STEPS_MAX, fitting);
  const targets: number[] = [];
  let scratchWords = 0;
  for (const width of widths) {
    targets.push(scratchWords);
    scratchWords += width * tile;
  }
  const rings = new Map<number, { offset: number; steps: number }>();
  let ringWords = 0;
  for (const node of plan.nodes) {
    const ring = ringOf(node);
    if (ring === null) continue;
    const steps = ring.steps + frame;
    rings.set(node.index, { offset: ringWords, steps });
    ringWords += steps * ring.size;
  }
  const uploadBytes = 4 * (UPLOAD_ROW_WORDS + frame * plan.sampleSize);
  const outputBytes = 4 * (OUTPUT_HEADER_WORDS + frame * widths[plan.output]!);
  const rowsMax = Math.max(
    1,
    Math.min(
      slots,
      Math.floor(scratchBytesMax / (4 * scratchWords)),
      Math.floor(transferBytesMax / Math.max(uploadBytes, outputBytes)),
    ),
  );
  const stateRowBytes = 4 * (plan.stateWords + ringWords);
  return {
    plan,
    slots,
    frame,
    tile,
    rowsMax,
    statesMax: Math.max(1, Math.floor(stateBytesMax / Math.max(4, stateRowBytes))),
    stateWords: plan.stateWords,
    ringWords,
    rings,
    scratchWords,
    targets,
    widths,
    inputWords: plan.sampleSize,
    inputBitWords: wordsOf(plan.sampleSize),
  };
}

/** First word of copy `copy` of slot `slot` in the state buffer. */
export function rowOffset(layout: Layout, slot: number, copy: number): number {
  return (slot * COPIES + copy) * layout.stateWords;
}
