/** For who runs the server: metrics, the slot table, the feed of server events. */
import type { Timer } from "../../base/clock.ts";
import { METRICS_TYPE } from "../../metrics/mod.ts";
import type { ModelStats } from "../../scheduler/mod.ts";
import { assertEventStream } from "../accept.ts";
import { type Answer, jsonAnswer } from "../answer.ts";
import type { AppDeps, Context } from "../context.ts";
import { type EventStreams, eventText, streamAnswer } from "../sse.ts";

type Deps = Pick<
  AppDeps,
  "service" | "clock" | "limits" | "metrics" | "serverEvents" | "residentBytes"
>;

/** How often a dashboard is told how full the server is. */
const LOAD_MS = 1000;

export function watchRoutes(deps: Deps, streams: EventStreams) {
  const { service, clock, metrics, serverEvents, residentBytes } = deps;

  const isReady = () => {
    try {
      service.assertReady();
      return true;
    } catch {
      return false;
    }
  };

  const loadText = () =>
    eventText(
      "load",
      JSON.stringify({
        at: new Date(clock.wallMs()).toISOString(),
        models: service.stats().map(describeStats),
        event_streams: streams.open,
      }),
    );

  return {
    metrics: (): Answer => ({
      status: 200,
      headers: { "content-type": METRICS_TYPE },
      body: metrics.text({
        models: service.stats(),
        isReady: isReady(),
        eventStreams: streams.open,
        residentBytes: residentBytes?.() ?? null,
      }),
    }),

    /** Every slot of every model; sessions of other keys without their ids. */
    slots(c: Context) {
      const owner = c.owner;
      const holders = new Map(
        service.allSessions().filter(({ seat }) => seat.slot !== null)
          .map((each) => [`${each.seat.slot!.slot} ${each.options.model}`, each]),
      );
      const models = service.stats().map((stats) => ({
        ...describeStats(stats),
        slots: Array.from({ length: stats.slots }, (_, slot) => {
          const session = holders.get(`${slot} ${stats.model}`);
          if (session === undefined) return { slot, state: "free" };
          return {
            slot,
            state: "held",
            session: session.options.owner === owner ? session.id : null,
            steps_done: session.stepsDone,
            frames_waiting: session.queue.framesWaiting,
            frames_late: session.framesLate,
            readers: session.readers,
            last_activity_at: new Date(service.lastActivityMs(session)).toISOString(),
          };
        }),
      }));
      return jsonAnswer({ models });
    },

    events(c: Context) {
      assertEventStream(c.req.header("accept"));
      if (c.req.raw.method === "HEAD") return streamAnswer(null);
      const lastId = c.req.header("last-event-id") ?? c.req.query("last_event_id");
      const reader = serverEvents.read(lastId);
      const owner = c.owner;
      let timer: Timer | null = null;
      c.connection.keepOpen?.();
      const stream = streams.start({
        signal: c.req.raw.signal,
        onRoom: () => pump(),
        cut: () => c.connection.cut?.(),
        onClose: () => {
          timer?.cancel();
          reader.close();
        },
      });
      const pump = (): void => {
        while (stream.hasRoom) {
          const text = reader.pull(owner);
          if (text === null) break;
          stream.write(text);
        }
        if (reader.isClosed) stream.close();
      };
      const tellLoad = (): void => {
        if (stream.isClosed) return;
        if (stream.hasRoom) stream.write(loadText());
        timer = clock.after(LOAD_MS, tellLoad);
      };
      reader.onReady = pump;
      tellLoad();
      pump();
      return streamAnswer(stream);
    },
  };
}

function describeStats(stats: ModelStats) {
  return {
    model: stats.model,
    slots_total: stats.slots,
    slots_free: stats.slotsFree,
    sessions: stats.sessions,
    sessions_waiting: stats.waiting,
    frames_waiting: stats.framesWaiting,
    readers: stats.readers,
  };
}
