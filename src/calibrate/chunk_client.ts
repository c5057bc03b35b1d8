/** Sessions that are opened to be measured, and chunks whose outputs are waited for. */
import type { ServerClient } from "../load/mod.ts";

const TYPE = "application/octet-stream";

/** Opens at most so many sessions: as many as slots are free. */
export async function openSessions(client: ServerClient, most: number): Promise<string[]> {
  const path = "/v1/sessions";
  const ids: string[] = [];
  while (ids.length < most) {
    const response = await client.ask(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: client.model.id }),
    });
    if (response.status !== 201) {
      const refused = await client.refusal(response, path);
      if (refused.code === "no_slot") break;
      throw refused;
    }
    ids.push((await response.json() as { id: string }).id);
  }
  return ids;
}

/** Ends them; a server that is gone is no error. */
export async function endSessions(client: ServerClient, ids: readonly string[]): Promise<void> {
  await Promise.allSettled(ids.map(async (id) => {
    const response = await client.ask(`/v1/sessions/${id}`, { method: "DELETE" });
    await response.body?.cancel();
  }));
}

/** Sends f32 values, and resolves when their outputs have come whole. */
export async function post(
  client: ServerClient,
  session: string,
  chunk: Float32Array<ArrayBuffer>,
): Promise<void> {
  const path = `/v1/sessions/${session}/chunks?wait=true`;
  const headers = { "content-type": TYPE, accept: TYPE };
  const response = await client.ask(path, { method: "POST", headers, body: chunk });
  if (response.status !== 200) throw await client.refusal(response, path);
  await response.arrayBuffer();
}
