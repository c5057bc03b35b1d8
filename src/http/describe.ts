/** Models, sessions and chunks as the JSON of the contract. */
import { describePlan } from "../model/mod.ts";
import type { Chunk, ModelHost, Service, StreamSession } from "../scheduler/mod.ts";

export function describeModel({ id, plan, info, scheduler }: ModelHost) {
  return {
    id,
    sample_shape: plan.sampleShape,
    output_shape: plan.outputShape,
    frame: scheduler.frame,
    slots: scheduler.slots,
    dt: plan.dt,
    dt_source: plan.dtSource,
    discretization: plan.discretization,
    options: plan.options,
    layers: plan.nodes.map(({ name, type, shape, kind, state }) => ({
      name,
      type,
      shape,
      kind,
      state: state.map((field) => field.name),
    })),
    state_bytes: info.stateBytes,
    digest: plan.digest,
    numerics: info.numerics,
    executor: { kind: info.kind, device: info.device, software: info.software },
    notes: plan.notes,
  };
}

/** How a model hangs together, and what can be watched of it: what a picture of it needs. */
export function describeGraph({ id, plan, probes, labels, hasReadout }: ModelHost) {
  return {
    id,
    layers: describePlan(plan).nodes.map((node) => ({
      name: node.name,
      type: node.type,
      shape: node.shape,
      kind: node.kind,
      from: node.from,
      late: node.late,
      parameters: node.parameters,
      state_bytes: node.stateBytes,
      details: node.details,
    })),
    output: plan.nodes[plan.output]!.name,
    record: [...probes.values()].map(({ name, shape }) => ({ name, shape })),
    readout: hasReadout,
    labels,
  };
}

export function describeSession(service: Service, session: StreamSession) {
  const { options, queue } = session;
  const { plan, scheduler } = service.model(options.model);
  return {
    id: session.id,
    model: options.model,
    state: session.seat.slot === null ? "parked" : "active",
    slot: session.seat.slot?.slot ?? null,
    frame: scheduler.frame,
    sample_shape: plan.sampleShape,
    output_shape: plan.outputShape,
    dt: plan.dt,
    steps_done: session.stepsDone,
    frames_waiting: queue.framesWaiting,
    next_chunk_seq: queue.nextSeq,
    seq_window: queue.seqWindow,
    credit: queue.credit,
    epoch: session.epoch,
    epochs: session.epochs.map(({ epoch, fromStep }) => ({ epoch, from_step: fromStep })),
    durable_seq: session.durableSeq,
    created_at: new Date(options.createdAtMs).toISOString(),
    last_activity_at: new Date(service.lastActivityMs(session)).toISOString(),
    ttl_s: options.ttlSeconds,
    record: options.record,
    outputs: options.outputs,
    ...(options.predictor === null ? {} : { readout: true }),
    frame_period_ms: options.framePeriodMs,
    frames_late: session.framesLate,
  };
}

/** What is answered to who posted a chunk. */
export function describeChunk({ queue, durableSeq }: StreamSession, chunk: Chunk) {
  return {
    seq: chunk.seq,
    steps: chunk.steps,
    start_step: chunk.startStep,
    end_step: chunk.startStep + chunk.steps,
    epoch: chunk.epoch,
    next_chunk_seq: queue.nextSeq,
    credit: queue.credit,
    durable_seq: durableSeq,
  };
}
