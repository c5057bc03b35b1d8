/**
 * `ganglion bench`: how many frames a second a model makes on this machine, on WebGPU and on the CPU,
 * by the number of sessions in a step. Without HTTP; the executor in a thread of its own, as a server
 * has it. `calibrate --model` measures it with the server around.
 */
import { measureExecutor } from "../calibrate/mod.ts";
import { chooseInThread, type DeviceChoice } from "../choose_executor.ts";
import { GanglionError } from "../base/errors.ts";
import { limitsOf } from "../config.ts";
import { loadRun } from "../load_model.ts";
import type { Plan } from "../model/mod.ts";
import { say, writeOut } from "../runtime/mod.ts";
import { type Call, given } from "./command.ts";
import { msText } from "./load_report.ts";
import { Progress } from "./progress.ts";
import { realPace } from "./real_pace.ts";
import { loadOptions, sayNotes, takePositionals } from "./reading.ts";

interface Measured {
  readonly executor: Awaited<ReturnType<typeof chooseInThread>>["info"];
  readonly steps: readonly {
    readonly rows: number;
    readonly seconds: number;
    readonly p10: number;
    readonly p90: number;
    readonly framesPerSecond: number;
    /** Seconds of signal a second, all rows together. */
    readonly realTime: number;
  }[];
}

export async function run(call: Call): Promise<number> {
  const { settings } = call;
  const [path] = takePositionals(call.positionals, ["MODEL"]);
  const { plan, run: record } = await loadRun(path!, loadOptions(call));
  sayNotes(plan);
  const { slots } = settings;
  const frame = given(call, "frame") ?? record?.frame ?? limitsOf(settings).frame;
  const devices: readonly DeviceChoice[] = settings.device === "auto"
    ? ["webgpu", "cpu"]
    : [settings.device];
  const found: Measured[] = [];
  for (const device of devices) {
    const seconds = settings.seconds / devices.length;
    try {
      found.push(await measure(plan, { slots, frame, device, seconds }, settings.density));
    } catch (error) {
      const away = error instanceof GanglionError && error.code === "device_unavailable";
      if (settings.device !== "auto" || !away) throw error;
      say(`no WebGPU: ${error.message}`);
    }
  }
  await writeOut(
    settings.json
      ? `${
        JSON.stringify({ model: plan.name, frame, density: settings.density, found }, null, 2)
      }\n`
      : reportText(plan, frame, settings.density, found),
  );
  return 0;
}

async function measure(
  plan: Plan,
  size: { slots: number; frame: number; device: DeviceChoice; seconds: number },
  density: number,
): Promise<Measured> {
  const executor = await chooseInThread(plan, { ...size, say });
  const progress = new Progress(`${executor.info.kind} steps`, 100);
  try {
    const costs = await measureExecutor(executor, {
      pace: realPace,
      seconds: size.seconds,
      density,
      onProgress: (share) => progress.update(Math.round(100 * share)),
    });
    const steps = costs.map(({ rows, seconds, p10, p90 }) => {
      const framesPerSecond = rows / seconds;
      return {
        rows,
        seconds,
        p10,
        p90,
        framesPerSecond,
        realTime: framesPerSecond * size.frame * plan.dt,
      };
    });
    return { executor: executor.info, steps };
  } finally {
    progress.end();
    await executor.close();
  }
}

function reportText(
  plan: Plan,
  frame: number,
  density: number,
  found: readonly Measured[],
): string {
  const lines = [
    `${plan.name}: frames of ${frame} steps, ${100 * density} % of the inputs on; without HTTP`,
  ];
  for (const { executor, steps } of found) {
    lines.push("", `${executor.kind}: ${executor.device}, ${executor.numerics}`);
    lines.push("sessions  ms a step   p10 to p90        frames/s   times real time");
    for (const { rows, seconds, p10, p90, framesPerSecond, realTime } of steps) {
      lines.push(
        [
          String(rows).padStart(8),
          msText(seconds * 1000).padStart(11),
          `${msText(p10 * 1000)} to ${msText(p90 * 1000)}`.padStart(17),
          number(framesPerSecond).padStart(11),
          number(realTime).padStart(17),
        ].join(" "),
      );
    }
  }
  return `${lines.join("\n")}\n`;
}

/** Three digits and thousands separators. */
const number = (value: number): string =>
  Number(value.toPrecision(3)).toLocaleString("en-US", { maximumFractionDigits: 3 });
