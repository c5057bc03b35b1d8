/** What a client sends by a slip, and would never notice if it passed in silence. */
import { describe, expect, test } from "bun:test";
import { expectProblem } from "./support/problems.ts";
import { makeWorld } from "./support/world.ts";

const JSON_TYPE = { "content-type": "application/json" };

describe.each(["fork", "park", "reset", "ticket"])("POST …/%s takes no body", (what) => {
  test("junk is told, and nothing is done", async () => {
    const world = makeWorld({ limits: { controlBytesMax: 100 } });
    const id = await world.open();
    const post = (body: BodyInit | null, headers: HeadersInit = JSON_TYPE) =>
      world.send(`/v1/sessions/${id}/${what}`, { method: "POST", body, headers });
    await expectProblem(await post("{"), "bad_json");
    await expectProblem(await post('{"to": 3}'), "invalid_body");
    await expectProblem(await post("[]"), "invalid_body");
    await expectProblem(
      await post("x", { "content-type": "text/plain" }),
      "unsupported_media_type",
    );
    await expectProblem(await post(new Uint8Array(3), {}), "unsupported_media_type");
    await expectProblem(
      await post("{}", { ...JSON_TYPE, "content-encoding": "gzip" }),
      "unsupported_media_type",
    );
    await expectProblem(await post(" ".repeat(101)), "body_too_large");
    expect(world.service.allSessions()).toHaveLength(1);
    expect(world.service.session(id)).toMatchObject({ epoch: 1 });
    expect(world.service.session(id).seat.slot).not.toBe(null);
    for (const [body, headers] of [[null, {}], ["", JSON_TYPE], ["{}", JSON_TYPE]] as const) {
      expect((await post(body, headers)).ok).toBe(true);
    }
  });

  test("a session that ended says so before its body is read", async () => {
    const world = makeWorld();
    const id = await world.open();
    await world.send(`/v1/sessions/${id}`, { method: "DELETE" });
    const init = { method: "POST", body: "x" };
    const answer = await world.send(`/v1/sessions/${id}/${what}`, init);
    // Tickets are for outputs, which an ended session still has.
    await expectProblem(answer, what === "ticket" ? "unsupported_media_type" : "session_gone");
  });
});

describe("query parameters", () => {
  test("where there are some, an unknown one is told, with what was probably meant", async () => {
    const world = makeWorld();
    const id = await world.open();
    const ask = (path: string, method = "GET") =>
      world.send(path, method === "GET" ? {} : { method, headers: JSON_TYPE, body: "{}" });
    const session = `/v1/sessions/${id}`;
    const cases = [
      [`${session}/outputs?encodng=bits`, "GET", "encodng", "encoding"],
      [`${session}/outputs?last_eventid=1-4`, "GET", "last_eventid", "last_event_id"],
      [`/v1/outputs?sesion=${id}`, "GET", "sesion", "session"],
      [`${session}/chunks?wiat=true`, "POST", "wiat", "wait"],
      [`${session}/state?allow-inexact=true`, "PUT", "allow-inexact", "allow_inexact"],
      ["/v1/sessions?allowinexact=true", "POST", "allowinexact", "allow_inexact"],
      ["/v1/events?last-event-id=1", "GET", "last-event-id", "last_event_id"],
    ] as const;
    for (const [path, method, parameter, meant] of cases) {
      const problem = await expectProblem(await ask(path, method), "invalid_query", { parameter });
      expect(problem.detail).toBe(`"${parameter}" is no parameter here; did you mean "${meant}"?`);
    }
    const far = await expectProblem(
      await ask(`${session}/chunks?x=1`, "POST"),
      "invalid_query",
      { parameters: ["wait"] },
    );
    expect(far.detail).toBe('"x" is no parameter here; there are wait');
    expect(world.service.session(id).queue.nextSeq).toBe(0);
  });

  test("routes that have none do not look at the query", async () => {
    const world = makeWorld();
    for (
      const path of ["/healthz", "/v1/models", "/metrics", `/v1/sessions/${await world.open()}`]
    ) {
      expect((await world.send(`${path}?probe=1`)).status).toBe(200);
    }
  });
});

test("a chunk number that is none is named", async () => {
  const world = makeWorld();
  const id = await world.open();
  for (const seq of ["x", "1.5", "-1", "1e3"]) {
    const init = { method: "DELETE" };
    const answer = await world.send(`/v1/sessions/${id}/chunks/${seq}`, init);
    const { detail } = await expectProblem(answer, "chunk_unknown", { next_chunk_seq: 0 });
    expect(detail).toBe(`Chunks have whole numbers, not "${seq}"`);
  }
});

test("406 says what to accept", async () => {
  const world = makeWorld();
  const id = await world.open();
  const headers = { accept: "image/png" };
  const outputs = await world.send(`/v1/sessions/${id}/outputs`, { headers });
  expect(await expectProblem(outputs, "not_acceptable")).toMatchObject({
    detail: "Outputs are given as text/event-stream",
    action: "Accept one of the types that the detail lists",
    types: ["text/event-stream"],
  });
  const state = await world.send(`/v1/sessions/${id}/state`, { headers });
  expect(await expectProblem(state, "not_acceptable")).toMatchObject({
    detail: "A state is given as application/octet-stream",
  });
});

describe("a body that is too large", () => {
  const LIMITS = { controlBytesMax: 100, bodyBytesMax: 48 };
  const refusal = async (path: string, body: BodyInit, type = "application/json") => {
    const world = makeWorld({ limits: LIMITS });
    const id = await world.open();
    const answer = await world.send(path.replace("ID", id), {
      method: "POST",
      body,
      headers: { "content-type": type },
    });
    return await expectProblem(answer, "body_too_large");
  };

  test("of a new session names one rule, whatever is sent", async () => {
    const nested = await refusal("/v1/sessions", `${"[".repeat(60)}${"]".repeat(60)}`);
    const huge = await refusal("/v1/sessions", new Uint8Array(2_000_000));
    const { state } = nested.bytes_max_with as { state: number };
    expect(nested.detail)
      .toBe(`A body has at most 100 bytes here, or ${state} with the field "state"`);
    const told = ({ detail, action, bytes_max, bytes_max_with }: typeof nested) => ({
      detail,
      action,
      bytes_max,
      bytes_max_with,
    });
    expect(told(huge)).toEqual(told(nested));
  });

  test("speaks of chunks only where there are some", async () => {
    const reset = await refusal("/v1/sessions/ID/reset", " ".repeat(101));
    expect(`${reset.detail}; ${reset.action}`).not.toContain("chunk");
    const chunk = await refusal(
      "/v1/sessions/ID/chunks",
      new Uint8Array(49),
      "application/octet-stream",
    );
    expect(chunk.detail).toBe("A body has at most 48 bytes here; send fewer steps in each chunk");
  });
});

test("fields of a JSON chunk: what there is, what was meant, and from where steps count", async () => {
  const world = makeWorld();
  const id = await world.open();
  const detail = async (chunk: object) => {
    const answer = await world.send(`/v1/sessions/${id}/chunks`, {
      method: "POST",
      body: JSON.stringify(chunk),
      headers: JSON_TYPE,
    });
    return (await expectProblem(answer, "invalid_body")).detail;
  };
  expect(await detail({ evnts: [], steps: 1 }))
    .toBe('There is no field "evnts"; did you mean "events"?');
  expect(await detail({ nothing: 1 }))
    .toBe('There is no field "nothing"; there are data, steps, events, reset');
  expect(await detail({ steps: -1, events: [] })).toBe("steps must be a whole number from 1");
});

test("what a later version may bring says what there is instead", async () => {
  const world = makeWorld();
  const path = `/v1/sessions/${await world.open()}/transfer`;
  const { title, detail } = await expectProblem(
    await world.send(path, { method: "POST" }),
    "not_built",
  );
  expect(title).toBe("This is not part of this version");
  expect(detail).toContain("GET …/state");
});
