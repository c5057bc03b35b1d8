/** The series of the dashboard's charts: what they say of times in which the server was not read. */
import { afterEach, expect, mock, setSystemTime, test } from "bun:test";

// The server gives pages the package under this name; no stream is read here.
void mock.module("../../web/eventsource_parser.js", () => ({ createParser: () => null }));
const { MetricsHistory } = await import("../../web/metrics_history.js");

const page = globalThis as unknown as Record<string, unknown>;
const real = { fetch: globalThis.fetch, setInterval: globalThis.setInterval };

afterEach(() => {
  Object.assign(globalThis, real);
  delete page["document"];
  setSystemTime();
});

/** Reads the metrics at these seconds, with these counts of frames; when there was a point, and after a gap. */
async function read(readings: readonly (readonly [second: number, frames: number])[]) {
  let frames = 0;
  let ask = () => {};
  page["document"] = { hidden: false };
  page["sessionStorage"] = { getItem: () => null };
  Object.assign(globalThis, {
    fetch: () => Promise.resolve(new Response(`ganglion_frames_total ${frames}\n`)),
    setInterval: (action: () => void) => void (ask = action),
  });
  const history = new MetricsHistory();
  for (const [i, [second, count]] of readings.entries()) {
    frames = count;
    setSystemTime(new Date(second * 1000));
    const heard = new Promise((resolve) =>
      history.addEventListener("change", resolve, { once: true })
    );
    if (i === 0) history.start();
    else ask();
    await heard;
    await Promise.resolve();
  }
  return history.points.map(({ at, afterGap }) => [at, afterGap]);
}

test("readings far apart, or of another process, have a gap between them", async () => {
  const even = [[100, 5], [102, 6], [104, 7]] as const;
  expect(await read(even)).toEqual([[102, false], [104, false]]);
  // One that failed is no gap.
  expect(await read([...even, [108, 8]])).toEqual([[102, false], [104, false], [108, false]]);
  const away = [...even, [140, 8], [142, 9], [144, 9]] as const;
  expect(await read(away)).toEqual([[102, false], [104, false], [142, true], [144, false]]);
  const restarted = [...even, [106, 0], [108, 1]] as const;
  expect(await read(restarted)).toEqual([[102, false], [104, false], [108, true]]);
});
