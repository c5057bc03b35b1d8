/**
 * Izhikevich's neuron (2003), in mV and ms. Its rest is not zero: a session starts at v = -70, u = -14,
 * where nothing moves. Prints when it spikes under a constant current; see docs/custom_neurons.md.
 */
import { defineLayer, nn, sequential, snap, StreamServer } from "../../src/mod.ts";
const f = Math.fround;

export const izhikevich = defineLayer({
  name: "izhikevich",
  parameters: {
    a: { default: 0.02, unit: "1/ms" },
    b: { default: 0.2 },
    c: { default: -65, unit: "mV", about: "v after a spike" },
    d: { default: 8, about: "what a spike adds to u" },
  },
  state: { v: -70, u: -14 },
  coefficients: { // v += dt·(0.04·v² + 5·v + 140 - u + x); u += dt·a·(b·v - u)
    dt: (_, dt) => dt,
    square: (_, dt) => dt * 0.04,
    linear: (_, dt) => 1 + dt * 5,
    follow: ({ a }, dt) => dt * a,
    b: ({ b }) => b,
    c: ({ c }) => c,
    d: ({ d }) => d,
  },
  emits: "spike",
  wgsl: `fn izhikevich_step(
  x: f32, state: ptr<function, array<f32, 2>>, coef: ptr<function, array<f32, 7>>, mode: u32,
) -> f32 {
  let k = *coef;
  let s = *state;
  let slope = exact(k[1] * s[0]) + k[2];
  let v = snap(exact(slope * s[0]) + exact(k[0] * exact(exact(140.0 - s[1]) + x)));
  let u = snap(s[1] + exact(k[3] * exact(exact(k[4] * s[0]) - s[1])));
  let spike = v >= 30.0;
  (*state)[0] = select(v, k[5], spike);
  (*state)[1] = select(u, snap(exact(u) + k[6]), spike);
  return select(0.0, 1.0, spike);
}`,
  step(x, state, [dt, square, linear, follow, b, c, d]: Float32Array) {
    const [v0, u0] = [state[0]!, state[1]!];
    const v = snap(f(f(f(f(square! * v0) + linear!) * v0) + f(dt! * f(f(140 - u0) + x))));
    const u = snap(f(u0 + f(follow! * f(f(b! * v0) - u0))));
    const spike = v >= 30;
    state[0] = spike ? c! : v;
    state[1] = spike ? snap(f(u + d!)) : u;
    return spike ? 1 : 0;
  },
});

if (import.meta.main) {
  const plan = sequential([nn.Neuron(izhikevich)], { input: [1], dt: 0.5 });
  const server = await StreamServer.create(plan, { slots: 1, frame: 200, sampleShape: [1] });
  const future = server.submit(server.open(), new Float32Array(200).fill(10));
  await server.run();
  const { data } = await future.result();
  console.log([...data].flatMap((spike, t) => spike === 1 ? [t * plan.dt] : []).join(" "));
  await server.close();
}
