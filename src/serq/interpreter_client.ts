/**
 * What the client of each turn sees, whatever the program observes: the time to the first token, the
 * time per token after it, and the whole response. As in the original, a turn's first token is the end
 * of its last prefill before a decode, or, without a prefill, the first decode token; legs count as
 * their session.
 */
import type { Machine } from "./interpreter_machine.ts";
import { record } from "./interpreter_spawn.ts";
import type { ClientTurn, Session } from "./interpreter_state.ts";

/** A decode begins: what was prefilled at this instant has been the last prefill before it. */
export function startDecode(m: Machine, session: Session): void {
  const client = clientOf(session);
  if (client !== null && client.first === m.now) tellFirst(m, session, client);
}

/** The end of a prefill, or a decode token. */
export function countClientToken(m: Machine, session: Session, decode: boolean): void {
  const client = clientOf(session);
  if (client === null) return;
  if (client.told) {
    client.after += 1;
  } else if (!decode) {
    client.first = m.now;
  } else {
    if (Number.isNaN(client.first)) client.first = m.now;
    else client.after += 1;
    tellFirst(m, session, client);
  }
}

/** The server is done with a turn. */
export function endTurn(m: Machine, session: Session): void {
  const { client } = session;
  if (client === null) return;
  session.client = null;
  const { start, first, after } = client;
  if (!Number.isNaN(first)) tellFirst(m, session, client);
  if (after > 0) record(m, session, m.client.tpot, (m.now - first) / after);
  record(m, session, m.client.response, m.now - start);
}

function tellFirst(m: Machine, session: Session, client: ClientTurn): void {
  if (client.told) return;
  client.told = true;
  record(m, session, m.client.ttft, client.first - client.start);
}

function clientOf(session: Session): ClientTurn | null {
  let owner = session;
  while (owner.parent !== null) owner = owner.parent;
  return owner.client;
}
