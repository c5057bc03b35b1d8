/** uPlot as its script defines it: a global. */
import type UPlot from "uplot";

declare global {
  var uPlot: typeof UPlot;
}
