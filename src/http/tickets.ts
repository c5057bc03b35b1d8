/**
 * Tickets: one-use tokens that stand in an address, since a browser's EventSource can send no key. Each
 * opens the outputs of one session once, for a short time. Bounded in number; the oldest go first.
 */
import type { Clock } from "../base/clock.ts";
import { randomId } from "../base/ids.ts";

interface Ticket {
  readonly session: string;
  readonly owner: string | null;
  readonly untilMs: number;
}

export interface TicketsOptions {
  readonly clock: Clock;
  readonly seconds: number;
  readonly countMax: number;
}

export class Tickets {
  readonly #options: TicketsOptions;
  readonly #unused = new Map<string, Ticket>(); // oldest first

  constructor(options: TicketsOptions) {
    this.#options = options;
  }

  get unused(): number {
    return this.#unused.size;
  }

  issue(session: string, owner: string | null): string {
    const { clock, seconds, countMax } = this.#options;
    for (const [token, { untilMs }] of this.#unused) {
      if (untilMs > clock.now() && this.#unused.size < countMax) break;
      this.#unused.delete(token);
    }
    const token = randomId();
    this.#unused.set(token, { session, owner, untilMs: clock.now() + seconds * 1000 });
    return token;
  }

  /**
   * Uses tickets up, whatever comes of it. When they open all these sessions: whose they are. False
   * when one is missing, too old, used, or of somebody else.
   */
  redeem(tokens: readonly string[], sessions: readonly string[]): { owner: string | null } | false {
    const taken = tokens.map((token) => {
      const ticket = this.#unused.get(token);
      this.#unused.delete(token);
      return ticket;
    });
    const open = new Set<string>();
    const [first] = taken;
    for (const ticket of taken) {
      if (ticket === undefined || ticket.untilMs <= this.#options.clock.now()) return false;
      if (ticket.owner !== first?.owner) return false;
      open.add(ticket.session);
    }
    if (first === undefined || !sessions.every((id) => open.has(id))) return false;
    return { owner: first.owner };
  }
}
