/** A helper thread in which every adaptive neuron fails. */
import { type HelperOpening, helpOut } from "../../src/cpu/mod.ts";
import { LAYERS } from "../../src/layers/mod.ts";
import { ownPort } from "../../src/runtime/mod.ts";

Object.assign(LAYERS.alif, {
  step() {
    throw new Error("no luck");
  },
});
ownPort<never, HelperOpening>().listen(helpOut);
