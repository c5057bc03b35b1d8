/**
 * The event heap: a binary heap ordered by (time, key, sequence). Entries live in parallel arrays, so
 * a push allocates nothing. Two events at one instant with one key leave in the order they came.
 */

export class EventHeap<Event> {
  private readonly times: number[] = [];
  private readonly keys: number[] = [];
  private readonly sequences: number[] = [];
  private readonly events: Event[] = [];
  private nextSequence = 0;

  get size(): number {
    return this.times.length;
  }

  /** Infinity when the heap is empty. */
  peekTime(): number {
    return this.times.length === 0 ? Infinity : this.times[0]!;
  }

  peek(): Event | undefined {
    return this.events[0];
  }

  push(time: number, event: Event, key = 0): void {
    let at = this.times.length;
    const sequence = this.nextSequence++;
    this.times.push(time);
    this.keys.push(key);
    this.sequences.push(sequence);
    this.events.push(event);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const parentTime = this.times[parent]!;
      // A new entry has the largest sequence, so a tie leaves it below its parent.
      if (parentTime < time || (parentTime === time && this.keys[parent]! <= key)) break;
      this.move(parent, at);
      at = parent;
    }
    this.place(at, time, key, sequence, event);
  }

  pop(): Event | undefined {
    const last = this.times.length - 1;
    if (last < 0) return undefined;
    const top = this.events[0];
    const time = this.times.pop()!;
    const key = this.keys.pop()!;
    const sequence = this.sequences.pop()!;
    const event = this.events.pop()!;
    if (last > 0) this.sink(last, time, key, sequence, event);
    return top;
  }

  private sink(size: number, time: number, key: number, sequence: number, event: Event): void {
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && this.less(child + 1, child)) child += 1;
      const childTime = this.times[child]!;
      if (childTime > time) break;
      if (childTime === time) {
        const childKey = this.keys[child]!;
        if (childKey > key || (childKey === key && this.sequences[child]! > sequence)) break;
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
    this.events[to] = this.events[from]!;
  }

  private place(at: number, time: number, key: number, sequence: number, event: Event): void {
    this.times[at] = time;
    this.keys[at] = key;
    this.sequences[at] = sequence;
    this.events[at] = event;
  }
}
