/** The one order of names: by the bytes of their UTF-8 form, which is the order of code points. */

export function compareNames(a: string, b: string): number {
  if (a === b) return 0;
  const left = a[Symbol.iterator]();
  const right = b[Symbol.iterator]();
  for (;;) {
    const x = left.next();
    const y = right.next();
    if (x.done || y.done) return x.done ? (y.done ? 0 : -1) : 1;
    const difference = x.value.codePointAt(0)! - y.value.codePointAt(0)!;
    if (difference !== 0) return difference;
  }
}

/** `base`, or `base_1`, `base_2`, … until no one has it. */
export function freeName(base: string, taken: { has(name: string): boolean }): string {
  let name = base;
  for (let i = 1; taken.has(name); i++) name = `${base}_${i}`;
  return name;
}
