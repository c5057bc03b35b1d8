/**
 * Paced sessions, as examples/serq/stream_server.sq describes them: each sends a frame every period from
 * a random moment, whether or not the last one was answered, and begins anew at another moment after
 * some chunks. Latency counts from when a frame was due.
 */

export interface Paced {
  readonly url: string;
  readonly sessions: readonly string[];
  /** One frame as f32. */
  readonly frame: Float32Array<ArrayBuffer>;
  readonly periodMs: number;
  /** Frames until a session begins anew. */
  readonly chunks: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
}

/** Latencies in milliseconds of the frames that were due after the warm-up. */
export async function pacedLatencies(options: Paced): Promise<number[]> {
  const { url, sessions, frame, periodMs, chunks, warmUpMs, measureMs } = options;
  const from = performance.now() + warmUpMs;
  const until = from + measureMs;
  const latencies: number[] = [];
  const send = async (session: string, due: number): Promise<void> => {
    const response = await fetch(`${url}/v1/sessions/${session}/chunks?wait=true`, {
      method: "POST",
      headers: { "content-type": "application/octet-stream", accept: "application/octet-stream" },
      body: frame,
    });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`a chunk was answered ${response.status}`);
    if (due >= from) latencies.push(performance.now() - due);
  };
  await Promise.all(sessions.map(async (session) => {
    while (performance.now() < until) {
      let due = performance.now() + Math.random() * periodMs;
      const sent: Promise<void>[] = [];
      for (let chunk = 0; chunk < chunks && due < until; chunk++) {
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
        sent.push(send(session, due));
        due += periodMs;
      }
      await Promise.all(sent);
    }
  }));
  return latencies;
}

export async function openSessions(url: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    const response = await fetch(`${url}/v1/sessions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    ids.push((await response.json() as { id: string }).id);
  }
  return ids;
}

export async function endSessions(url: string, ids: readonly string[]): Promise<void> {
  for (const id of ids) await fetch(`${url}/v1/sessions/${id}`, { method: "DELETE" });
}
