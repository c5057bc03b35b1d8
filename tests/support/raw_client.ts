/** Clients below HTTP: a socket that says what it likes, and what the operating system knows of a process. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { connect, type Socket } from "node:net";

export interface RawClient {
  readonly socket: Socket;
  /** All that came so far, as latin-1. */
  text(): string;
  /** Resolves with all that came once the other side ends, or after `ms`. */
  ended(ms: number): Promise<string>;
}

export async function rawClient(url: string, first = ""): Promise<RawClient> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  let text = "";
  const over = Promise.withResolvers<void>();
  socket.on("data", (data) => text += data.toString("latin1"));
  socket.on("end", () => over.resolve());
  socket.on("close", () => over.resolve());
  socket.on("error", () => over.resolve());
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  if (first !== "") socket.write(first, "latin1");
  return {
    socket,
    text: () => text,
    async ended(ms) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const late = new Promise<void>((resolve) => timer = setTimeout(resolve, ms));
      await Promise.race([over.promise, late]);
      clearTimeout(timer);
      return text;
    },
  };
}

/** Sockets that a process has open. */
export function socketsOf(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter((fd) => {
    try {
      return readlinkSync(`${folder}/${fd}`).startsWith("socket:");
    } catch {
      return false;
    }
  }).length;
}

/** Memory of a process in MiB. */
export function residentMib(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) / 1024;
}
