/** API §2: tickets, for browsers that can send no key. */
import { describe, expect, test } from "bun:test";
import { Tickets } from "../../src/http/tickets.ts";
import { EventClient } from "./support/events.ts";
import { expectProblem } from "./support/problems.ts";
import { makeWorld, settle, SimClock, type World } from "./support/world.ts";

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const keys = { deps: { apiKeys: ["alpha", "beta"] } };

async function issue(world: World, id: string, headers: HeadersInit = bearer("alpha")) {
  const answer = await world.send(`/v1/sessions/${id}/ticket`, { method: "POST", headers });
  expect([answer.status, answer.headers.get("cache-control")]).toEqual([201, "no-store"]);
  const { ticket, expires_at } = await answer.json() as { ticket: string; expires_at: string };
  expect(Date.parse(expires_at) - world.clock.wallMs()).toBe(60_000);
  return ticket;
}

describe("a ticket", () => {
  test("opens the outputs of its session once, without a key", async () => {
    const world = makeWorld(keys);
    const id = await world.open({}, { headers: bearer("alpha") });
    const to = `/v1/sessions/${id}/outputs?ticket=${await issue(world, id)}`;
    const client = new EventClient(await world.send(to));
    await settle();
    expect(client.events[0]!.event).toBe("open");
    await client.leave();
    await expectProblem(await world.send(to), "unauthorized");
  });

  test("is good for 60 s", async () => {
    const world = makeWorld(keys);
    const id = await world.open({ ttl_s: 0 }, { headers: bearer("alpha") });
    const [early, late] = [await issue(world, id), await issue(world, id)];
    await world.clock.advance(59_999);
    const answer = await world.send(`/v1/sessions/${id}/outputs?ticket=${early}`);
    expect(answer.status).toBe(200);
    await answer.body!.cancel();
    await world.clock.advance(1);
    await expectProblem(
      await world.send(`/v1/sessions/${id}/outputs?ticket=${late}`),
      "unauthorized",
    );
  });

  test("opens nothing else, and is used up by trying", async () => {
    const world = makeWorld(keys);
    const id = await world.open({}, { headers: bearer("alpha") });
    const other = await world.open({}, { headers: bearer("alpha") });
    for (
      const [path, method] of [
        [`/v1/sessions/${id}`, "GET"],
        [`/v1/sessions/${id}`, "DELETE"],
        [`/v1/sessions/${id}/chunks`, "POST"],
        [`/v1/sessions/${id}/outputs/`, "GET"],
        [`/v1/sessions/${id}/outputs`, "HEAD"],
        ["/v1/sessions", "GET"],
        ["/metrics", "GET"],
      ] as const
    ) {
      const ticket = await issue(world, id);
      const answer = await world.send(`${path}?ticket=${ticket}`, { method });
      expect([path, answer.status]).toEqual([path, 401]);
    }
    const ticket = await issue(world, id);
    for (const to of [other, id]) {
      await expectProblem(
        await world.send(`/v1/sessions/${to}/outputs?ticket=${ticket}`),
        "unauthorized",
      );
    }
    expect(world.service.sessions("x")).toEqual([]);
  });

  test("is given for one's own sessions only", async () => {
    const world = makeWorld(keys);
    const id = await world.open({}, { headers: bearer("alpha") });
    const foreign = await world.send(`/v1/sessions/${id}/ticket`, {
      method: "POST",
      headers: bearer("beta"),
    });
    await expectProblem(foreign, "session_unknown");
  });

  test("without keys a wrong one is refused all the same", async () => {
    const world = makeWorld();
    const id = await world.open();
    await expectProblem(await world.send(`/v1/sessions/${id}/outputs?ticket=x`), "unauthorized");
    const answer = await world.send(
      `/v1/sessions/${id}/outputs?ticket=${await issue(world, id, {})}`,
    );
    expect(answer.status).toBe(200);
    await answer.body!.cancel();
  });

  test("several open a stream of several sessions", async () => {
    const world = makeWorld(keys);
    const ids = [
      await world.open({}, { headers: bearer("alpha") }),
      await world.open({}, { headers: bearer("alpha") }),
    ];
    const [a, b] = ids;
    const query = `session=${a}&session=${b}`;
    const one = await issue(world, a!);
    await expectProblem(await world.send(`/v1/outputs?${query}&ticket=${one}`), "unauthorized");
    const both = `ticket=${await issue(world, b!)}&ticket=${await issue(world, a!)}`;
    const answer = await world.send(`/v1/outputs?${query}&${both}`);
    expect(answer.status).toBe(200);
    await answer.body!.cancel();
  });
});

test("unused tickets are bounded: the oldest go, and the old ones are forgotten", async () => {
  const clock = new SimClock();
  const tickets = new Tickets({ clock, seconds: 60, countMax: 3 });
  const tokens = Array.from({ length: 5 }, () => tickets.issue("s", null));
  expect(tickets.unused).toBe(3);
  expect(tokens.map((token) => tickets.redeem([token], ["s"]) !== false))
    .toEqual([false, false, true, true, true]);
  tickets.issue("s", null);
  tickets.issue("s", null);
  await clock.advance(60_000);
  tickets.issue("s", null);
  expect(tickets.unused).toBe(1);
});
