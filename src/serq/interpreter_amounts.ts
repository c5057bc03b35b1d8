/** Amounts and keys: how expressions are read for a session, rounded to blocks and compared. */
import type { Machine } from "./interpreter_machine.ts";
import { EPSILON, type Eval, type PoolState, type Session } from "./interpreter_state.ts";
import { RunError, runErrors } from "./run_errors.ts";

/** Reads an expression for a session, as its own statement would. */
export function readFor(m: Machine, session: Session, eval_: Eval): number {
  const { session: before, stream, attributes } = m;
  m.session = session;
  m.stream = "session";
  m.attributes = session.attributes;
  const value = eval_();
  m.session = before;
  m.stream = stream;
  m.attributes = attributes;
  return value;
}

export function roundUp(pool: PoolState, units: number): number {
  return pool.block > 0 ? Math.ceil((units - EPSILON) / pool.block) * pool.block : units;
}

export function roundDown(pool: PoolState, units: number): number {
  return pool.block > 0 ? Math.floor((units + EPSILON) / pool.block) * pool.block : units;
}

/** Compares key tuples element by element, in IEEE total order. */
export function compareKeys(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < a.length; i++) {
    const x = a[i]!;
    const y = b[i]!;
    if (x < y) return -1;
    if (x > y) return 1;
    if (Object.is(x, y)) continue;
    if (x === 0 && y === 0) return Object.is(x, -0) ? -1 : 1;
    if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
  }
  return 0;
}

export function checkAmount(text: string, value: number): number {
  if (!(value >= 0)) throw new RunError(runErrors.amount(text, value));
  return value;
}
