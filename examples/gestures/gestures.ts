/**
 * Tells in which direction something moves in front of an event camera, with weights set by hand: for
 * each place and direction there is a detector that fires when a pixel has an event now and the pixel
 * two places back had one two steps ago (Reichardt's detector, 1961). The scenes are made here, from a
 * seed: a bar that sweeps over 12 × 12 pixels at 0.7 to 1.4 pixels a step, of whose events 40 % are
 * missing, among noise. Prints how many of 240 are told right; see README.md.
 */
import { nn, sequential, StreamServer } from "../../src/mod.ts";

const SIDE = 12;
const PIXELS = SIDE * SIDE;
const STEPS = 16;
const LAG = 2;
const SLOTS = 16;
export const DIRECTIONS = [
  { name: "right", dx: 1, dy: 0 },
  { name: "left", dx: -1, dy: 0 },
  { name: "down", dx: 0, dy: 1 },
  { name: "up", dx: 0, dy: -1 },
] as const;
const DETECTORS = DIRECTIONS.length * PIXELS;

/** Events of one scene, `[16, 12, 12]` of 0 and 1, and the direction in it. */
export function scene(seed: number): { events: Float32Array; direction: number } {
  let state = Math.imul(seed + 1, 2654435761) >>> 0;
  const random = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  for (let i = 0; i < 4; i++) random();
  const direction = Math.floor(random() * DIRECTIONS.length);
  const { dx, dy } = DIRECTIONS[direction]!;
  const speed = 0.7 + 0.7 * random();
  const [start, length] = [-2 * random(), 4 + Math.floor(4 * random())];
  const side = Math.floor(random() * (SIDE - length + 1));
  const events = new Float32Array(STEPS * PIXELS);
  for (let t = 0, before = NaN; t < STEPS; t++) {
    const front = Math.floor(start + speed * t);
    // A pixel speaks when its brightness changes: at the front of the bar, when that has moved.
    for (let i = 0; front !== before && i < length; i++) {
      const along = dx + dy > 0 ? front : SIDE - 1 - front;
      const [x, y] = dy === 0 ? [along, side + i] : [side + i, along];
      if (along < 0 || along >= SIDE || random() < 0.4) continue;
      events[t * PIXELS + y * SIDE + x] = 1;
    }
    for (let pixel = 0; pixel < PIXELS; pixel++) {
      if (random() < 0.02) events[t * PIXELS + pixel] = 1;
    }
    before = front;
  }
  return { events, direction };
}

/** Pixels → detectors, of which each sees two pixels at two times → a leaky sum for each direction. */
export function motionModel() {
  const at = (pixel: number, detector: number) => pixel * DETECTORS + detector;
  const kernel = new Float32Array(PIXELS * DETECTORS);
  const delay = new Float32Array(PIXELS * DETECTORS);
  const pool = new Float32Array(DETECTORS * DIRECTIONS.length);
  DIRECTIONS.forEach(({ dx, dy }, direction) => {
    for (let pixel = 0; pixel < PIXELS; pixel++) {
      const [x, y] = [pixel % SIDE - LAG * dx, Math.floor(pixel / SIDE) - LAG * dy];
      if (x < 0 || y < 0 || x >= SIDE || y >= SIDE) continue;
      const detector = direction * PIXELS + pixel;
      kernel[at(pixel, detector)] = kernel[at(y * SIDE + x, detector)] = 1;
      delay[at(y * SIDE + x, detector)] = LAG;
      pool[detector * DIRECTIONS.length + direction] = 1;
    }
  });
  return sequential([
    nn.DelayedDense({
      kernel: { shape: [PIXELS, DETECTORS], data: kernel },
      delay: { shape: [PIXELS, DETECTORS], data: delay },
      maxDelay: LAG,
      bias: false,
    }),
    // Forgets in a step, so that only two events at once make it fire.
    nn.LIF({ tau: 0.5, threshold: 1.5, reset: "zero" }),
    nn.Dense({ kernel: { shape: [DETECTORS, DIRECTIONS.length], data: pool }, bias: false }),
    nn.LI({ tau: 20 }),
  ], { input: [PIXELS], name: "motion" });
}

/** The directions told for scenes, each a session of its own, as many at once as there are slots. */
export async function tell(scenes: readonly Float32Array[]): Promise<number[]> {
  const server = await StreamServer.create(motionModel(), {
    slots: SLOTS,
    frame: STEPS,
    sampleShape: [PIXELS],
    device: "cpu", // few pixels speak at a step, and the CPU executor works only for those
  });
  const told: number[] = [];
  for (let first = 0; first < scenes.length; first += SLOTS) {
    const jobs = scenes.slice(first, first + SLOTS).map((events) => {
      const session = server.open();
      return { session, future: server.submit(session, events) };
    });
    await server.run();
    for (const { session, future } of jobs) {
      const { data } = await future.result();
      const last = [...data.subarray(-DIRECTIONS.length)]; // the sums after the last step
      told.push(last.indexOf(Math.max(...last)));
      server.close(session);
    }
  }
  await server.close();
  return told;
}

if (import.meta.main) {
  const scenes = Array.from({ length: 240 }, (_, seed) => scene(seed));
  const told = await tell(scenes.map(({ events }) => events));
  const right = scenes.filter(({ direction }, i) => direction === told[i]).length;
  const shares = DIRECTIONS.map(({ name }, direction) => {
    const own = told.filter((_, i) => scenes[i]!.direction === direction);
    return `${name} ${own.filter((each) => each === direction).length}/${own.length}`;
  });
  console.log(`${right} of ${scenes.length} right (${shares.join(", ")})`);
}
