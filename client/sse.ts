/**
 * Server-sent events from the bytes of a response, as the standard says; an event that is not whole
 * when the stream ends is dropped. A comment is an event without a name, so that who reads sees
 * every sign of life.
 */

export interface ServerEvent {
  /** `""` for a comment. */
  readonly event: string;
  readonly data: string;
  /** Null where the event has none. */
  readonly id: string | null;
}

const COMMENT: ServerEvent = { event: "", data: "", id: null };

/** Takes text as it comes and gives the events that are whole. */
export class EventParser {
  #text = "";
  #event = "";
  #data: string[] = [];
  #id: string | null = null;

  push(text: string): ServerEvent[] {
    this.#text += text;
    const events: ServerEvent[] = [];
    // A CR at the very end may be the first half of a CRLF.
    const lines = this.#text.split(/\r\n|\n|\r(?!$)/);
    this.#text = lines.pop()!;
    for (const line of lines) this.#line(line, events);
    return events;
  }

  #line(line: string, events: ServerEvent[]): void {
    if (line === "") {
      if (this.#data.length > 0) {
        events.push({ event: this.#event || "message", data: this.#data.join("\n"), id: this.#id });
      }
      this.#event = "";
      this.#data = [];
      this.#id = null;
      return;
    }
    if (line.startsWith(":")) {
      events.push(COMMENT);
      return;
    }
    const [, field = "", value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!;
    if (field === "event") this.#event = value;
    else if (field === "data") this.#data.push(value);
    else if (field === "id") this.#id = value;
  }
}
