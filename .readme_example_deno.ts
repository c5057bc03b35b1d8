import { StreamServer } from "./src/mod.ts";

const server = await StreamServer.create("examples/digits/digits.nir", {
  slots: 8, // sessions at once
  frame: 5, // time steps of a frame
  sampleShape: [64], // one time step of input
});
const session = server.open(); // throws when no slot is free
const future = server.submit(session, new Float32Array(5 * 64).fill(1)); // one frame, [5, 64]
await server.run(); // one batched step per round of waiting frames
const { data, shape } = await future.result(); // shape is [5, 10]
console.log(shape.join(" x "), data.length); // 5 x 10 50
await server.close();
