/**
 * A run: what stands around a model when it is used. Encoders before it, readouts behind it, and
 * `run.json`, which names them. Plain data and arithmetic; knows no files, devices or sessions.
 */
export {
  type Encoder,
  encodeSample,
  EVENTS,
  recordingEncoder,
  scaleBytes,
  scalesBytes,
  takesRecordings,
  timeFirst,
} from "./encoders.ts";
export { encoderFields } from "./encoder_record.ts";
export { philox } from "./philox.ts";
export { RunningReadout } from "./prediction.ts";
export { bestOf, Readout, type ReadoutName, READOUTS } from "./readouts.ts";
export {
  checkRun,
  MODEL_FILE,
  parseRun,
  RUN_FILE,
  type RunOptions,
  type RunRecord,
  writeRun,
} from "./run_record.ts";
