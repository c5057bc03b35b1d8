/**
 * A list in the order of arrival from which anything can be taken out at once. Its links stand in the
 * items themselves, so it allocates nothing and hashes nothing; an item stands in one list at most.
 */
export interface Linked<T> {
  before: T | null;
  after: T | null;
}

export class LinkedList<T extends Linked<T>> {
  size = 0;
  first: T | null = null;
  private last: T | null = null;

  add(item: T): void {
    const { last } = this;
    item.before = last;
    if (last === null) this.first = item;
    else last.after = item;
    this.last = item;
    this.size += 1;
  }

  /** Of an item that stands in no list, nothing. */
  remove(item: T): void {
    const { before, after } = item;
    if (before === null && this.first !== item) return;
    if (before === null) this.first = after;
    else before.after = after;
    if (after === null) this.last = before;
    else after.before = before;
    item.before = null;
    item.after = null;
    this.size -= 1;
  }

  *[Symbol.iterator](): Generator<T> {
    for (let item = this.first; item !== null; item = item.after) yield item;
  }
}
