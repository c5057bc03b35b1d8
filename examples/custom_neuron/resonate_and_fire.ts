/**
 * The resonate-and-fire neuron (Izhikevich 2001): its state turns and decays in the plane (u, v), so pulses
 * in its own rhythm make it fire and others do not. Prints the spikes; see docs/custom_neurons.md.
 */
import { defineLayer, nn, sequential, snap, StreamServer } from "../../src/mod.ts";
const f = Math.fround;

export const resonateAndFire = defineLayer({
  name: "resonate_and_fire",
  parameters: {
    omega: { default: 2 * Math.PI / 20, unit: "1/ms", min: 0, about: "turns by this a ms" },
    damping: { default: 0.02, unit: "1/ms", min: 0 },
    threshold: { default: 1 },
  },
  state: { u: 0, v: 0 },
  // One step multiplies u + iv by exp((-damping + i·omega)·dt).
  coefficients: {
    cos: ({ omega, damping }, dt) => Math.exp(-damping * dt) * Math.cos(omega * dt),
    sin: ({ omega, damping }, dt) => Math.exp(-damping * dt) * Math.sin(omega * dt),
    threshold: ({ threshold }) => threshold,
  },
  emits: "spike",
  nir: "ResonateAndFire", // nodes of this type, with the parameters as fields, become this layer
  wgsl: `fn resonate_and_fire_step(
  x: f32, state: ptr<function, array<f32, 2>>, coef: ptr<function, array<f32, 3>>, mode: u32,
) -> f32 {
  let k = *coef;
  let s = *state;
  let u = snap(exact(exact(k[0] * s[0]) - exact(k[1] * s[1])) + x);
  let v = snap(exact(k[1] * s[0]) + exact(k[0] * s[1]));
  let spike = v >= k[2];
  (*state)[0] = select(u, 0.0, spike);
  (*state)[1] = select(v, k[2], spike);
  return select(0.0, 1.0, spike);
}`,
  step(x, state, [cos, sin, threshold]: Float32Array) {
    const [u0, v0] = [state[0]!, state[1]!];
    const u = snap(f(f(f(cos! * u0) - f(sin! * v0)) + x));
    const v = snap(f(f(sin! * u0) + f(cos! * v0)));
    const spike = v >= threshold!;
    state[0] = spike ? 0 : u;
    state[1] = spike ? threshold! : v;
    return spike ? 1 : 0;
  },
});

if (import.meta.main) {
  const plan = sequential([nn.Neuron(resonateAndFire)], { input: [1] });
  const server = await StreamServer.create(plan, { slots: 2, frame: 80, sampleShape: [1] });
  const futures = [20, 10].map((period) => { // pulses in its rhythm, and twice as fast
    const pulses = Float32Array.from({ length: 80 }, (_, t) => t % period === 0 ? 0.7 : 0);
    return server.submit(server.open(), pulses);
  });
  await server.run();
  for (const future of futures) console.log((await future.result()).data.join(""));
  await server.close();
}
