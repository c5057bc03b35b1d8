/** A client of an event stream for tests: what came so far, parsed or word for word. */
import { createParser, type EventSourceMessage } from "eventsource-parser";

export interface Received {
  readonly id: string | undefined;
  readonly event: string | undefined;
  // deno-lint-ignore no-explicit-any -- tests look inside
  readonly data: any;
}

export class EventClient {
  readonly status: number;
  readonly events: Received[] = [];
  /** Everything that came, word for word. */
  text = "";
  /** The server ended the response. */
  isOver = false;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  readonly #done: Promise<void>;

  constructor(answer: Response) {
    this.status = answer.status;
    this.#reader = answer.body?.getReader();
    this.#done = this.#read();
  }

  /** Leaves, as a client does that goes away. */
  async leave(): Promise<void> {
    await this.#reader?.cancel();
  }

  /** Resolves when the server has ended the stream. */
  ended(): Promise<void> {
    return this.#done;
  }

  named(event: string): Received[] {
    return this.events.filter((each) => each.event === event);
  }

  async #read(): Promise<void> {
    const parser = createParser({
      onEvent: ({ id, event, data }: EventSourceMessage) => {
        this.events.push({ id, event, data: JSON.parse(data) });
      },
    });
    const decoder = new TextDecoder();
    for (;;) {
      const part = await this.#reader?.read();
      if (part === undefined || part.done) break;
      const text = decoder.decode(part.value, { stream: true });
      this.text += text;
      parser.feed(text);
    }
    this.isOver = true;
  }
}
