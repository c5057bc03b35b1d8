/** A directed graph on 0 … n-1 with its strongly connected parts. No recursion: graphs may be deep. */

export interface Arc {
  readonly from: number;
  readonly to: number;
}

/** Arc indices by their source. */
export function arcsBySource(count: number, arcs: readonly Arc[]): number[][] {
  const lists: number[][] = Array.from({ length: count }, () => []);
  arcs.forEach((arc, index) => lists[arc.from]!.push(index));
  return lists;
}

/** Arc indices by their target. */
export function arcsByTarget(count: number, arcs: readonly Arc[]): number[][] {
  const lists: number[][] = Array.from({ length: count }, () => []);
  arcs.forEach((arc, index) => lists[arc.to]!.push(index));
  return lists;
}

/** Tarjan: the number of the part that each node belongs to; parts are numbered targets first. */
export function strongParts(count: number, arcs: readonly Arc[]): Int32Array {
  const outgoing = arcsBySource(count, arcs);
  const part = new Int32Array(count).fill(-1);
  const index = new Int32Array(count).fill(-1);
  const low = new Int32Array(count);
  const next = new Int32Array(count);
  const held: number[] = [];
  let seen = 0;
  let parts = 0;
  for (let root = 0; root < count; root++) {
    if (index[root] !== -1) continue;
    const path = [root];
    index[root] = low[root] = seen++;
    held.push(root);
    while (path.length > 0) {
      const node = path.at(-1)!;
      const arc = outgoing[node]![next[node]!++];
      if (arc !== undefined) {
        const to = arcs[arc]!.to;
        if (index[to] === -1) {
          index[to] = low[to] = seen++;
          held.push(to);
          path.push(to);
        } else if (part[to] === -1) low[node] = Math.min(low[node]!, index[to]!);
        continue;
      }
      path.pop();
      const above = path.at(-1);
      if (above !== undefined) low[above] = Math.min(low[above]!, low[node]!);
      if (low[node] !== index[node]) continue;
      for (let member = -1; member !== node;) {
        member = held.pop()!;
        part[member] = parts;
      }
      parts++;
    }
  }
  return part;
}

/** The parts that hold a cycle (several nodes, or one with an arc to itself), as sorted node lists. */
export function cyclicParts(count: number, arcs: readonly Arc[]): number[][] {
  const part = strongParts(count, arcs);
  const looped = new Set(arcs.filter(({ from, to }) => from === to).map(({ from }) => part[from]!));
  const members = new Map<number, number[]>();
  for (let node = 0; node < count; node++) {
    const list = members.get(part[node]!);
    if (list) list.push(node);
    else members.set(part[node]!, [node]);
  }
  return [...members].filter(([id, list]) => list.length > 1 || looped.has(id)).map(([, list]) =>
    list
  );
}
