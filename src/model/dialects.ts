/**
 * What each framework computes when it reads a NIR file: one row a framework, each choice with its reason.
 * Rows hold what the package's own importer and neurons do, read in their source at the version named
 * and proven by tests/conformance/framework_cases.ts against its output. Where importer and native
 * layers of a framework differ, the importer counts, and docs/numerics.md says so.
 */
import type { DialectName, Discretization, ReadingOptions } from "./plan.ts";

type Chosen = Omit<ReadingOptions, "dialect"> & { readonly discretization: Discretization };
type Choices = { readonly [K in keyof Chosen]?: readonly [value: Chosen[K], why: string] };

/** One element of a node, for a rule to look at. */
export interface Element {
  readonly dt: number;
  /** The value of a field at this element; NaN when the type has no such field. */
  readonly at: (field: string) => number;
}

/** What a file must hold for the framework to read it without loss; a warning says so otherwise. */
export interface DialectRule {
  readonly types: readonly string[];
  /** Absent: the framework cannot read these types at all. */
  readonly holds?: (element: Element) => boolean;
  readonly text: string;
}

export interface Dialect {
  readonly title: string;
  readonly version: string;
  /** Files of the package that say so. */
  readonly source: string;
  /**
   * Seconds a step where the flag and the file say nothing: a number, `gains` (the dt with which
   * Rockpool's exporter wrote r), or null when the framework always asks.
   */
  readonly dt: readonly [value: number | "gains" | null, why: string];
  readonly choices: Choices;
  readonly rules: readonly DialectRule[];
  /** Nested graphs of a neuron and weights around it are read by the kinds of their nodes: rewire.ts. */
  readonly byKind?: boolean;
  /** What a tau below dt probably means in this framework's files. */
  readonly shortTau?: string;
}

/** As numpy.isclose; a field that is not there is near anything. */
export const near = (a: number, b: number): boolean =>
  !(Math.abs(a - b) > 1e-8 + 1e-5 * Math.abs(b));
const zero = (field: string) => ({ at }: Element): boolean => near(at(field), 0);
const one = (field: string) => ({ at }: Element): boolean => near(at(field), 1);

const SNNTORCH: Dialect = {
  title: "snnTorch",
  version: "1.0.0",
  source: "import_nir.py, _neurons/leaky.py, _neurons/synaptic.py",
  dt: [1e-4, "dt is the constant 1e-4 of import_nir.py and export_nir.py"],
  byKind: true,
  choices: {
    discretization: ["euler", "beta = 1 - dt/tau"],
    compare: ["gt", "spikes where mem - threshold > 0"],
    reset: ["zero", "the importer builds reset_mechanism zero, reset_delay False"],
    gain: ["threshold", "mem = beta*mem + x; the threshold is divided by r*dt/tau instead"],
    ifGain: ["r", "an IF must have r = 1 and adds its input"],
    cubaOrder: ["new", "mem adds the syn of the same step"],
  },
  rules: [
    { types: ["LI", "CubaLI", "I"], text: "snnTorch reads no such node; it is read as usual" },
    {
      types: ["IF"],
      text:
        "snnTorch 1.0.0 makes a Leaky of beta 0.9 of an IF, with a leak that the file does not " +
        "have; it is read as an IF",
    },
    {
      types: ["LIF", "CubaLIF"],
      holds: zero("v_leak"),
      text: "snnTorch refuses v_leak other than 0",
    },
    {
      types: ["LIF", "CubaLIF", "IF"],
      holds: zero("v_reset"),
      text: "snnTorch resets to 0, whatever v_reset",
    },
    {
      types: ["CubaLIF"],
      holds: ({ at, dt }) => near((at("r") * dt) / at("tau_mem"), 1),
      text: "snnTorch refuses a CubaLIF whose r is not tau_mem/dt",
    },
  ],
};

const NORSE: Dialect = {
  title: "Norse",
  version: "1.1.0",
  source: "torch/utils/import_nir.py, torch/functional/{lif_box,leaky_integrator_box,iaf}.py",
  dt: [1e-3, "the default of from_nir(dt=0.001)"],
  choices: {
    discretization: ["euler", "dv = dt*tau_mem_inv*(x + v_leak - v)"],
    compare: ["gt", "spikes where v - v_th > 0"],
    reset: ["zero", "the v_reset of its own parameters, 0; the file's is not read"],
    gain: ["no_r", "r of LIF, LI and IF is not used; a CubaLIF multiplies its current by r"],
    form: ["box", "v + dv; a CubaLIF is w_in, a leaky box with v_leak, r, a LIF box with v_leak"],
    rest: ["v_leak", "initial_state is v = v_leak, and the current of a CubaLIF is such a box"],
    cubaOrder: ["new", "the LIF box gets the current of the same step"],
  },
  rules: [
    { types: ["CubaLI", "I"], text: "Norse reads no such node; it is read as usual" },
    {
      types: ["LI"],
      text: "Norse's importer has no LI, though its exporter writes it; read as LIBoxCell",
    },
    { types: ["LIF", "LI", "IF"], holds: one("r"), text: "Norse reads r as 1" },
    {
      types: ["LIF", "IF", "CubaLIF"],
      holds: zero("v_reset"),
      text: "Norse resets to 0, whatever v_reset",
    },
  ],
  shortTau: "Norse's to_nir writes dt/tau_mem_inv with dt = 1e-3 when it is not told dt=1; " +
    "such a file needs --dt 1e-6",
};

const SPARX: Dialect = {
  title: "sparx",
  version: "0.1.1",
  source: "nir.py, dynamics/core.py",
  dt: [null, "from_nir asks for dt; to_nir writes it into the metadata"],
  choices: {
    discretization: ["exact", "the default of from_nir; to_nir writes its own into the metadata"],
    compare: ["ge", "spikes where v >= threshold"],
    reset: ["zero", 'layers are built with reset="zero"'],
    gain: ["fold", "r*(1 - d) is multiplied into the kernel and bias before the neuron"],
    ifGain: ["r_dt", "r*dt is folded; its exporter writes r = 1/dt"],
  },
  rules: [
    {
      types: ["CubaLIF", "CubaLI", "I", "Threshold", "Scale", "Delay", "SumPool2d", "AvgPool2d"],
      text: "sparx reads no such node; it is read as usual",
    },
    { types: ["LIF", "LI"], holds: zero("v_leak"), text: "sparx refuses v_leak other than 0" },
    { types: ["LIF", "IF"], holds: zero("v_reset"), text: "sparx refuses v_reset other than 0" },
  ],
};

const STEPS: DialectRule = {
  types: ["LIF", "LI"],
  holds: ({ at, dt }) => at("tau") >= dt,
  text: "tau is shorter than a step: the file seems to count seconds, where Sinabs counts steps; " +
    "give --dt its seconds a step",
};

const SINABS: Dialect = {
  title: "Sinabs",
  version: "3.1.3",
  source: "nir.py, layers/functional/lif.py, activation/spike_generation.py",
  dt: [1, "tau counts steps: alpha = exp(-1/tau)"],
  choices: {
    discretization: ["exact", "alpha = exp(-1/tau)"],
    compare: ["ge", "(v > 0)*trunc(v/threshold) counts a threshold that is just reached"],
    reset: ["subtract", "MembraneSubtract: v - spikes*threshold"],
    spikes: ["many", "MultiSpike: as many spikes as thresholds in v"],
    gain: ["unit", "layers are built with norm_input=False, and r is not used"],
    synapse: ["before", "i = alpha_syn*(i + x)"],
    clamp: [true, "an IF is built with min_v_mem = -threshold"],
  },
  rules: [
    { types: ["CubaLIF", "CubaLI", "I"], text: "Sinabs reads no such node; it is read as usual" },
    { types: ["LIF", "LI"], holds: zero("v_leak"), text: "Sinabs refuses v_leak other than 0" },
    { types: ["LI"], holds: one("r"), text: "Sinabs refuses an LI whose r is not 1" },
    { types: ["LIF", "IF"], holds: zero("v_reset"), text: "Sinabs subtracts, whatever v_reset" },
    STEPS,
  ],
};

const ROCKPOOL: Dialect = {
  title: "Rockpool",
  version: "3.1.0",
  source: "nn/modules/torch/nir.py, nn/modules/torch/lif_torch.py",
  dt: ["gains", "its exporter writes r = tau*exp(-dt/tau)/dt, which gives dt back"],
  choices: {
    discretization: ["exact", "alpha = exp(-dt/tau_mem), beta = exp(-dt/tau_syn)"],
    compare: ["ge", "(v >= threshold)*floor(v/threshold)"],
    reset: ["subtract", "v - spikes*threshold"],
    spikes: ["many", "as many spikes as thresholds in v"],
    gain: ["unit", "r and w_in are not used but to find dt; v_leak is the bias of a step"],
    synapse: ["before", "isyn = (isyn + x)*beta"],
    cubaOrder: ["new", "vmem = alpha*vmem + isyn of the same step"],
  },
  rules: [
    { types: ["IF", "I", "CubaLI"], text: "Rockpool reads no such node; it is read as usual" },
    {
      types: ["LIF", "LI"],
      text:
        "Rockpool's importer fails on a LIF and takes an LI's tau as a whole number; read as its " +
        "LIFNeuronTorch and ExpSynTorch compute",
    },
    {
      types: ["LIF", "CubaLIF"],
      holds: zero("v_reset"),
      text: "Rockpool subtracts, whatever v_reset",
    },
  ],
};

const SPYX: Dialect = {
  title: "spyx",
  version: "1.0.0",
  source: "nir.py, nn.py",
  dt: [1, "the default of from_nir(dt=1)"],
  byKind: true,
  choices: {
    discretization: ["euler", "beta = 1 - dt/tau"],
    compare: ["gt", "spikes where V - threshold > 0"],
    reset: ["subtract_next", "V = beta*V + x - spikes*threshold, with the spikes of the old V"],
    late: ["spikes", "the spikes of a step come from the V of the step before"],
    gain: ["unit", "r and w_in are not used"],
    ifGain: ["r", "an IF adds its input"],
    cubaOrder: ["new", "V = beta*V + I of the same step"],
  },
  rules: [
    { types: ["CubaLI", "I"], text: "spyx reads no such node; it is read as usual" },
    { types: ["LIF", "CubaLIF"], holds: zero("v_leak"), text: "spyx does not use v_leak" },
    {
      types: ["LIF", "IF", "CubaLIF"],
      holds: zero("v_reset"),
      text: "spyx subtracts, whatever v_reset",
    },
  ],
};

const SPIKINGJELLY: Dialect = {
  title: "SpikingJelly",
  version: "2.0.0",
  source: "activation_based/nir_exchange/from_nir.py, _ops/lif/reference.py",
  dt: [1e-4, "the default of import_from_nir(dt=1e-4)"],
  choices: {
    discretization: ["euler", "v + (x - (v - v_reset))/tau, tau in steps"],
    compare: ["ge", "the surrogate's forward is v - v_threshold >= 0"],
    reset: ["v_reset", "hard reset to v_reset"],
    rest: ["v_reset", "the memory v is registered with v_reset"],
    form: ["box", "decay_input, where r is 1; where r is tau/dt, v - (v - v_reset)/tau + x"],
    ifGain: ["r_dt", "an IF must have r = 1/dt and adds its input"],
    cubaOrder: ["new", "v*v_decay + current of the same step"],
  },
  rules: [
    { types: ["LI", "CubaLI", "I"], text: "SpikingJelly reads no such node; it is read as usual" },
    {
      types: ["LIF"],
      holds: ({ at, dt }) => near(at("r"), 1) || near((at("r") * dt) / at("tau"), 1),
      text: "SpikingJelly refuses a LIF whose r is neither 1 nor tau/dt",
    },
    {
      types: ["LIF"],
      holds: ({ at }) => near(at("v_leak"), at("v_reset")),
      text: "SpikingJelly refuses a LIF whose v_leak is not v_reset",
    },
    {
      types: ["IF"],
      holds: ({ at, dt }) => near(at("r") * dt, 1),
      text: "SpikingJelly refuses an IF whose r is not 1/dt",
    },
    {
      types: ["CubaLIF"],
      holds: ({ at, dt }) =>
        near((at("r") * dt) / at("tau_mem"), 1) && near((at("w_in") * dt) / at("tau_syn"), 1),
      text: "SpikingJelly refuses a CubaLIF whose r or w_in is not its tau/dt",
    },
  ],
};

const LAVA: Dialect = {
  title: "Lava",
  version: "0.10.0",
  source: "proc/lif/models.py, proc/dense/models.py (lava-nc has no NIR importer of its own)",
  dt: [1e-4, "the configuration of the NIR paper's importer"],
  choices: {
    discretization: ["euler", "dv = dt/tau, du = dt/tau_syn"],
    compare: ["gt", "spikes where v > vth"],
    reset: ["zero", "v = 0 where it fired"],
    gain: ["file", "r*dt/tau goes into the weights before the neuron"],
    late: ["weights", "Dense sends what it gathered in the step before (a_buff)"],
    cubaOrder: ["new", "v = v*(1 - dv) + u of the same step"],
  },
  rules: [
    {
      types: ["LIF", "IF", "CubaLIF"],
      holds: zero("v_reset"),
      text: "Lava resets to 0, whatever v_reset",
    },
    {
      types: ["Affine", "Conv1d", "Conv2d"],
      holds: zero("bias"),
      text: "Lava's Dense and Conv have no bias",
    },
  ],
};

export const DIALECTS: Readonly<Record<DialectName, Dialect>> = {
  snntorch: SNNTORCH,
  norse: NORSE,
  sparx: SPARX,
  sinabs: SINABS,
  rockpool: ROCKPOOL,
  spyx: SPYX,
  spikingjelly: SPIKINGJELLY,
  lava: LAVA,
};

export const DIALECT_NAMES = Object.keys(DIALECTS) as readonly DialectName[];
