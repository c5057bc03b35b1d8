/**
 * The event heap: a binary heap ordered by (time, key, sequence). Entries live in parallel arrays that
 * grow by doubling and never shrink, so that a push allocates nothing: engines give an array that is
 * emptied and filled in turns new memory each time. Two events at one instant with one key leave in
 * the order they came.
 */

const CAPACITY = 16;

export class EventHeap<Event> {
  size = 0;
  private times = new Float64Array(CAPACITY);
  private keys = new Float64Array(CAPACITY);
  private sequences = new Float64Array(CAPACITY);
  private readonly events: (Event | undefined)[] = [];
  private nextSequence = 0;

  /** Infinity when the heap is empty. */
  peekTime(): number {
    return this.size === 0 ? Infinity : this.times[0]!;
  }

  peek(): Event | undefined {
    return this.size === 0 ? undefined : this.events[0];
  }

  push(time: number, event: Event, key = 0): void {
    if (this.size === this.times.length) this.enlarge();
    const { times, keys } = this;
    let at = this.size++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const parentTime = times[parent]!;
      // A new entry has the largest sequence, so a tie leaves it below its parent.
      if (parentTime < time || (parentTime === time && keys[parent]! <= key)) break;
      this.move(parent, at);
      at = parent;
    }
    this.place(at, time, key, this.nextSequence++, event);
  }

  pop(): Event | undefined {
    if (this.size === 0) return undefined;
    const { times, keys, sequences, events } = this;
    const top = events[0];
    const last = --this.size;
    const event = events[last]!;
    events[last] = undefined;
    if (last > 0) this.sink(times[last]!, keys[last]!, sequences[last]!, event);
    return top;
  }

  /** Puts an entry at the top and lets it sink to its place. */
  private sink(time: number, key: number, sequence: number, event: Event): void {
    const { size, times, keys, sequences } = this;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && this.less(child + 1, child)) child += 1;
      const childTime = times[child]!;
      if (childTime > time) break;
      if (childTime === time) {
        const childKey = keys[child]!;
        if (childKey > key || (childKey === key && sequences[child]! > sequence)) break;
      }
      this.move(child, at);
      at = child;
    }
    this.place(at, time, key, sequence, event);
  }

  private less(a: number, b: number): boolean {
    const difference = this.times[a]! - this.times[b]! || this.keys[a]! - this.keys[b]! ||
      this.sequences[a]! - this.sequences[b]!;
    return difference < 0;
  }

  private move(from: number, to: number): void {
    this.times[to] = this.times[from]!;
    this.keys[to] = this.keys[from]!;
    this.sequences[to] = this.sequences[from]!;
    this.events[to] = this.events[from];
  }

  private place(at: number, time: number, key: number, sequence: number, event: Event): void {
    this.times[at] = time;
    this.keys[at] = key;
    this.sequences[at] = sequence;
    this.events[at] = event;
  }

  private enlarge(): void {
    const twice = (values: Float64Array): Float64Array<ArrayBuffer> => {
      const larger = new Float64Array(2 * values.length);
      larger.set(values);
      return larger;
    };
    this.times = twice(this.times);
    this.keys = twice(this.keys);
    this.sequences = twice(this.sequences);
  }
}
