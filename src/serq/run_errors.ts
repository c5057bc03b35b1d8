/** Every way a run can fail, as one list of messages. They carry no place: they name the statement. */

export class RunError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "RunError";
  }
}

export function show(value: number): string {
  return Object.is(value, -0) ? "-0" : String(value).replace("Infinity", "inf");
}

export const runErrors = {
  amount: (statement: string, value: number) =>
    `\`${statement}\`: the amount is ${show(value)}; an amount of units, tokens or seconds is a ` +
    `number of at least 0`,
  index: (name: string, value: number, count: number) =>
    `index \`${name}\` is ${show(value)}: a member of an array of ${count} is 0 to ${count - 1}`,
  guard: (statement: string, value: number) =>
    `\`${statement}\`: the guard is ${show(value)}, not 0 or 1`,
  unsettled: (now: number, serial: number, times: number) =>
    `the instant t = ${show(now)} does not settle: session ${serial} became ready ${times} times ` +
    `without time passing (a \`run\` of zero work, or a \`hold\` admitted and released, in a loop)`,
  phases: (k: number, most: number) =>
    `\`~erlang(${show(k)}, …)\` has more than ${most} phases; each is a draw`,
  restless: (now: number, count: number) =>
    `the instant t = ${
      show(now)
    } does not settle: ${count} sessions of the closed population ended ` +
    `without time passing`,
  endless: (serial: number, limit: number) =>
    `session ${serial} executed ${limit} statements without reaching a run, a hold or its end: a ` +
    `loop lets no time pass`,
  iterationTime: (stage: string, value: number) =>
    `engine \`${stage}\`: an iteration that schedules tokens takes positive time, not ${
      show(value)
    }`,
  gap: (value: number) => `the renewal gap ${show(value)} is not a positive time`,
  count: (value: number) => `\`choose\`: the count is ${show(value)}, not a whole number`,
  load: (pool: string, position: number, amount: number, allocation: number) =>
    `\`load ${pool}\`: ${show(amount)} after position ${
      show(position)
    } must fit the allocation of ` +
    show(allocation),
  growNothing: (pool: string) =>
    `\`grow ${pool}\`: the session holds no \`${pool}\` and leases none; a lease ends at its ` +
    `\`release\`, at its expiry or with its session`,
  loadNothing: (pool: string) => `\`load ${pool}\` outside a hold of \`${pool}\``,
  scope: (pool: string) => `\`${pool}\` is used outside a hold of it: name the same member`,
  twice: (hold: string, pool: string) =>
    `\`${hold}\`: two of its pools name the same member, \`${pool}\`; a hold takes each pool once`,
  register: (name: string, value: number) =>
    `register \`${name}\` is set to ${show(value)}, not a finite number`,
  legLeft: (serial: number) => `session ${serial} ends while a leg it forked runs`,
  deadlock: (waits: string) =>
    `the run ends with sessions that wait for each other: ${waits}; a lease that expires would ` +
    `break the ring`,
  horizonReached: (horizon: number, reached: number, wanted: number) =>
    `horizon ${show(horizon)} reached before requested arrivals (${reached} of ${wanted})`,
  undrained: (live: number, horizon: number) =>
    `failed to drain ${live} active sessions by the horizon ${show(horizon)}`,
  noInterval: (end: number, warmup: number) =>
    `no measurement interval: the run ends at ${show(end)}, the warm-up at ${show(warmup)}`,
  emptyTrace: () => "the trace has no session",
  aborted: () => "the run was stopped",
  integrity: (what: string) => `integrity: ${what}`,
} as const;
