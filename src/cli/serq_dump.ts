/** `serq run --dump DIR`: every value that a run observed, and every gauge, as CSV. */
import { makeFolder, openPartWriter } from "../runtime/mod.ts";
import { type Interpreter, showNumber } from "../serq/mod.ts";

const LINES_A_WRITE = 1 << 14;

/**
 * Into a folder that is there: `NAME.csv` with `time,session,turn,value`, and `gauge/NAME.csv` with
 * `time,value`.
 */
export async function dump({ machine }: Interpreter, folder: string): Promise<void> {
  for (const { name, times, sessions, turns, values } of machine.observations) {
    const columns = [times!, sessions!, turns!, values].map((each) => each.values());
    await writeCsv(`${folder}/${name}.csv`, "time,session,turn,value", columns);
  }
  if (machine.gauges.length > 0) await makeFolder(`${folder}/gauge`);
  for (const { name, times, values } of machine.gauges) {
    await writeCsv(`${folder}/gauge/${name}.csv`, "time,value", [times, values]);
  }
}

/** In pieces: the lines of a long run are more than one string can hold. */
async function writeCsv(
  path: string,
  head: string,
  columns: readonly ArrayLike<number>[],
): Promise<void> {
  const file = await openPartWriter(path);
  try {
    let written = 0;
    const write = async (lines: readonly string[]) => {
      const bytes = new TextEncoder().encode(lines.map((line) => `${line}\n`).join(""));
      await file.write(written, bytes);
      written += bytes.length;
    };
    await write([head]);
    const count = columns[0]!.length;
    for (let start = 0; start < count; start += LINES_A_WRITE) {
      const rows = Array.from(
        { length: Math.min(LINES_A_WRITE, count - start) },
        (_, i) => start + i,
      );
      await write(rows.map((row) => columns.map((column) => showNumber(column[row]!)).join(",")));
    }
  } catch (error) {
    await file.discard();
    throw error;
  }
  await file.finish();
}
