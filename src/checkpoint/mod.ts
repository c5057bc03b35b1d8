/** A session's state, and a whole session, as bytes that are checked before they are believed. */
export { decodeSession, encodeSession } from "./session_file.ts";
export type {
  ChunkImage,
  OtherImage,
  OutputImage,
  ReadoutImage,
  RingImage,
  SessionImage,
  SpanImage,
  TimelineImage,
} from "./session_image.ts";
export { decodeSnapshot, encodeSnapshot, type Snapshot, snapshotBytesMax } from "./snapshot.ts";
