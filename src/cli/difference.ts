/** Where two arrays of outputs differ: how often, the first place, and whether a shift in time explains it. */

export interface Difference {
  /** Values that differ. */
  readonly count: number;
  /** Of how many. */
  readonly of: number;
  readonly largest: number;
  /** The first by recording, then step, then neuron; null where nothing differs. */
  readonly first: Place | null;
  /** Recordings in which something differs. */
  readonly recordings: number;
}

export interface Place {
  readonly recording: number;
  readonly step: number;
  readonly neuron: number;
  readonly ours: number;
  readonly theirs: number;
}

/** NaN equals NaN. */
export function differs(ours: number, theirs: number, tolerance: number): boolean {
  if (Object.is(ours, theirs)) return false;
  return !(Math.abs(ours - theirs) <= tolerance);
}

/** Adds up the differences of recordings, one `[steps, size]` after another. */
export class Differences {
  readonly #tolerance: number;
  readonly #size: number;
  #count = 0;
  #of = 0;
  #largest = 0;
  #recordings = 0;
  #first: Place | null = null;

  constructor(tolerance: number, size: number) {
    this.#tolerance = tolerance;
    this.#size = size;
  }

  add(recording: number, ours: Float32Array, theirs: Float32Array): void {
    const before = this.#count;
    for (let i = 0; i < ours.length; i++) {
      const [a, b] = [ours[i]!, theirs[i]!];
      const distance = Math.abs(a - b);
      if (distance > this.#largest) this.#largest = distance;
      if (!differs(a, b, this.#tolerance)) continue;
      this.#count++;
      this.#note({
        recording,
        step: Math.floor(i / this.#size),
        neuron: i % this.#size,
        ours: a,
        theirs: b,
      });
    }
    this.#of += ours.length;
    if (this.#count > before) this.#recordings++;
  }

  /** Recordings may end in any order. */
  #note(place: Place): void {
    const first = this.#first;
    if (first === null || place.recording < first.recording) this.#first = place;
  }

  sum(): Difference {
    return {
      count: this.#count,
      of: this.#of,
      largest: this.#largest,
      first: this.#first,
      recordings: this.#recordings,
    };
  }
}

const SHIFTS = [1, 2, -1, -2];

/** Steps by which theirs come later than ours, where that alone makes them equal; null elsewhere. */
export function shiftBetween(
  ours: Float32Array,
  theirs: Float32Array,
  size: number,
  tolerance: number,
): number | null {
  const fits = (shift: number): boolean => {
    const skip = Math.abs(shift) * size;
    if (skip >= ours.length) return false;
    const early = shift > 0 ? ours : theirs;
    const late = shift > 0 ? theirs : ours;
    for (let i = skip; i < ours.length; i++) {
      if (differs(early[i - skip]!, late[i]!, tolerance)) return false;
    }
    return early.some((value) => value !== 0);
  };
  return SHIFTS.find(fits) ?? null;
}
