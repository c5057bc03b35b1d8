/** Content negotiation: the best of the types we can give for an Accept header. */

import { GanglionError } from "../base/errors.ts";

interface Range {
  readonly type: string;
  readonly quality: number;
}

/**
 * The acceptable type with the highest quality; the earlier one of `offered` when equal. Null when
 * none is acceptable. No header accepts everything.
 */
export function bestType<T extends string>(
  header: string | undefined,
  offered: readonly T[],
): T | null {
  if (header === undefined || header.trim() === "") return offered[0] ?? null;
  if (header === "*/*") return offered[0] ?? null;
  const named = offered.find((type) => type === header);
  if (named !== undefined) return named;
  const ranges = header.split(",").map(parseRange);
  let best: T | null = null;
  let bestQuality = 0;
  for (const type of offered) {
    const quality = qualityOf(type, ranges);
    if (quality > bestQuality) {
      best = type;
      bestQuality = quality;
    }
  }
  return best;
}

/** Throws unless an event stream may be answered. */
export function assertEventStream(header: string | undefined): void {
  if (bestType(header, ["text/event-stream"]) !== null) return;
  throw new GanglionError("not_acceptable", "Outputs are given as text/event-stream", {
    types: ["text/event-stream"],
  });
}

function parseRange(text: string): Range {
  const [type, ...parameters] = text.split(";").map((part) => part.trim().toLowerCase());
  const quality = parameters.find((each) => /^q\s*=/.test(each))?.replace(/^q\s*=\s*/, "");
  const value = Number(quality ?? 1);
  return { type: type!, quality: value >= 0 && value <= 1 ? value : 0 };
}

/** The most specific range that covers the type decides. */
function qualityOf(type: string, ranges: readonly Range[]): number {
  const family = `${type.split("/", 1)[0]}/*`;
  for (const pattern of [type, family, "*/*"]) {
    const range = ranges.find((each) => each.type === pattern);
    if (range !== undefined) return range.quality;
  }
  return 0;
}
