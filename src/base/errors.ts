/**
 * Every error that a user can cause or meet, in one closed list: code, HTTP status, title, and what to
 * do. `GanglionError` carries a code of this list, a sentence with the values, and the facts as data.
 * Programmer faults use `assert` instead and never reach this list but as `internal`.
 */

interface ErrorKind {
  readonly status: number;
  readonly title: string;
  readonly action: string;
}

const kind = (status: number, title: string, action: string): ErrorKind => ({
  status,
  title,
  action,
});

export const ERRORS = {
  // Models and files
  model_unreadable: kind(422, "The model file cannot be read", "Export it again as NIR (HDF5)"),
  model_invalid: kind(422, "The model is not valid", "Mend the node that the detail names"),
  model_unsupported: kind(
    422,
    "The model uses something Ganglion does not serve",
    "See docs/models.md for what is served",
  ),
  run_invalid: kind(422, "The run folder is not valid", "Mend the field that the detail names"),
  model_timeout: kind(422, "Reading the model took too long", "Check the file with its own tool"),
  input_unreadable: kind(
    400,
    "The input file cannot be read",
    "docs/runs.md says which files are taken, and what they hold",
  ),
  // Requests
  bad_request: kind(400, "The request cannot be read", "Send the request whole, once more"),
  bad_length: kind(
    400,
    "The body is not a whole number of time steps",
    "Send a positive multiple of step_bytes",
  ),
  empty_chunk: kind(400, "The chunk holds no time step", "Send at least one step"),
  body_timeout: kind(400, "The body did not come in time", "Send it faster, or smaller chunks"),
  bad_json: kind(400, "The body is not JSON", "Send valid JSON"),
  snapshot_unreadable: kind(
    400,
    "The file is no whole snapshot",
    "Send a file that GET …/state gave, unchanged",
  ),
  bad_header: kind(
    400,
    "A header cannot be read",
    "Mend the header that the detail names, or leave it out",
  ),
  unauthorized: kind(401, "A key is needed", "Send Authorization: Bearer <key>"),
  forbidden_origin: kind(403, "The request comes from a foreign page", "Use --cors-origin"),
  forbidden_host: kind(403, "This host name is not served", "Use localhost or 127.0.0.1, or keys"),
  not_found: kind(404, "Nothing is here", "See /openapi.json for the routes"),
  session_unknown: kind(404, "No such session", "Open one with POST /v1/sessions"),
  model_unknown: kind(404, "No such model", "See GET /v1/models"),
  chunk_unknown: kind(404, "No such chunk", "Chunks are numbered from 0 per session"),
  method_not_allowed: kind(405, "This route has no such method", "See /openapi.json"),
  not_acceptable: kind(
    406,
    "None of the accepted answer types can be produced",
    "Accept one of the types that the detail lists",
  ),
  session_busy: kind(409, "The session has frames waiting", "Wait until they ran"),
  chunk_running: kind(409, "The chunk is already running", "Wait for its outputs"),
  chunk_done: kind(409, "The chunk has already run", "Read its outputs"),
  chunk_cancelled: kind(409, "The chunk was cancelled", "Send the data as a new chunk"),
  chunk_gap: kind(409, "Chunks before this one are missing", "Send the chunk that is expected"),
  chunk_too_old: kind(
    409,
    "The chunk was applied too long ago to be repeated",
    "Go on with next_chunk_seq",
  ),
  rolled_back: kind(
    409,
    "The session goes on in another epoch",
    "Go on from to_step with next_chunk_seq, or accept with Session-Epoch: <epoch>",
  ),
  after_failed_chunk: kind(
    409,
    "An earlier chunk failed and this one was dropped",
    "Send it again after the failed one",
  ),
  session_gone: kind(410, "The session has ended", "Open a new one"),
  outputs_gone: kind(410, "The outputs are no longer held", "Read outputs sooner"),
  body_too_large: kind(
    413,
    "The body is larger than the limit",
    "Send no more bytes than the detail allows",
  ),
  chunk_too_long: kind(413, "The chunk is longer than the whole queue", "Send smaller chunks"),
  answer_too_large: kind(
    413,
    "The outputs are too large for one answer",
    "Send smaller chunks, or read the event stream",
  ),
  unsupported_media_type: kind(
    415,
    "This body type is not taken here",
    "Send one of the types that the detail lists, without Content-Encoding",
  ),
  invalid_body: kind(
    422,
    "The body is readable but wrong",
    "Mend what the detail names; /openapi.json lists the route's fields",
  ),
  invalid_query: kind(
    422,
    "A query parameter is wrong",
    "Send the query parameters that /openapi.json lists for this route",
  ),
  snapshot_refused: kind(
    422,
    "The snapshot does not fit this session",
    "See the reason; allow_inexact=true takes another numerics tag",
  ),
  bad_array: kind(
    422,
    "The array has a wrong type or shape",
    "Give an array [n, …sample_shape] in C order, of a type that docs/http_api.md lists; for files " +
      "see docs/runs.md",
  ),
  event_out_of_range: kind(422, "An event lies outside the chunk", "See the position given"),
  chunk_differs: kind(
    422,
    "Another body was sent under this number before",
    "Repeat a chunk byte for byte, or give it a new number",
  ),
  non_finite: kind(
    422,
    "The chunk holds NaN or infinity",
    "Replace the value at the position given",
  ),
  model_required: kind(422, "Several models are served", "Name one in the field model"),
  too_many_sessions: kind(429, "The key has as many sessions as it may", "Close one first"),
  queue_full: kind(429, "This session's queue is full", "Read outputs and retry later"),
  outputs_unread: kind(429, "Outputs are held and the ring is full", "Read outputs, then retry"),
  too_many_readers: kind(429, "There are as many readers as there may be", "Close one first"),
  internal: kind(500, "A fault of the server", "Report it with the request id"),
  step_failed: kind(500, "A step failed and its frames were given up", "Send the chunk again"),
  not_built: kind(
    501,
    "This is not part of this version",
    "Use the routes that the detail names, or others of /openapi.json",
  ),
  origin_unreachable: kind(502, "The origin cannot be reached", "Retry later"),
  misconfigured: kind(500, "The gateway has no origin", "Set the variable ORIGIN"),
  no_slot: kind(503, "No slot is free", "Retry after the time given, or close a session"),
  starting: kind(503, "The server is starting", "Retry after the time given"),
  step_stuck: kind(503, "A step does not end", "Restart the server"),
  draining: kind(503, "The server is stopping", "Use another instance"),
  // Library and command line
  usage: kind(400, "Wrong usage", "See --help"),
  server_unreachable: kind(
    502,
    "The server cannot be reached",
    "Start one with ganglion serve, and give the address that it prints",
  ),
  device_unavailable: kind(503, "The wanted device is not there", "Run ganglion doctor"),
  device_lost: kind(503, "The device was lost", "Restart the server"),
} satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERRORS;

/** Facts are plain JSON values; they stand beside `detail` in a problem document. */
export type Facts = Readonly<Record<string, unknown>>;

/** An error with a code of the closed list. `message` is one sentence with the values that matter. */
export class GanglionError extends Error {
  readonly code: ErrorCode;
  readonly facts: Facts;

  constructor(code: ErrorCode, message: string, facts: Facts = {}, options?: ErrorOptions) {
    super(message, options);
    this.name = "GanglionError";
    this.code = code;
    this.facts = facts;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}
