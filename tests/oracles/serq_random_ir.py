"""Random programs as IR, run by the original: tests/fixtures/serq/random_ir.json.gz.

    b/bin/pip install pyserq==0.1.6
    b/bin/python tests/oracles/serq_random_ir.py FIRST LAST tests/fixtures/serq/random_ir.json.gz

A program for each seed from FIRST to LAST - 1: pools with every option, engines with every order and
random schedules, fifo, ps, delay and shared stages, nested holds, growth, legs, leases. Programs that
the original refuses to load are left out, and so are those on which it panics or does not return.
A run error is kept as its text. Each run has a process of its own, with five seconds.
"""

import gzip
import json
import os
import random
import signal
import sys

import pyserq

SMALL = True


BASE = ["cached", "serial", "turn_no", "new", "out", "think", "more", "forced", "computed"]


def num(x):
    return {"Num": x}


def at(i):
    return {"Attr": i}


def ctx(c):
    return {"Ctx": c}


NOW = ctx("Now")
SER = at(1)


def b(op, x, y):
    return {"Binary": [op, E(x), E(y)]}


def E(x):
    return num(float(x)) if isinstance(x, (int, float)) else x


def S(base, count=1, index=None):
    return {"base": base, "count": count, "index": None if index is None else E(index)}


def costp(ps, e):
    ps = sorted(set(ps))
    t = [{"Pool": {"base": p, "count": c}} for p, c in ps]
    return {"Cost": [t[0] if len(t) == 1 else {"Joint": t}, E(e)]}


def costs(ss, e):
    ss = sorted(set(ss))
    t = [{"Stage": {"base": p, "count": c}} for p, c in ss]
    return {"Cost": [t[0] if len(t) == 1 else {"Joint": t}, E(e)]}


def run(stage, w, mode="Plain", growing=None, also=None, share=None):
    r = {
        "stage": stage,
        "mode": mode,
        "work": costs([(x["base"], x["count"]) for x in [stage] + (also or [])], w),
        "growing": growing,
    }
    if also:
        r["also"] = also
        r["share"] = share or "MaxMin"
    return {"Run": r}


def obs(i, e):
    return {"Observe": [i, E(e)]}


def sett(i, e):
    return {"Set": [i, E(e)]}


def call(f, *a):
    return {
        "Call": [
            f,
            [
                (
                    {"Pool": x["P"]}
                    if isinstance(x, dict) and "P" in x
                    else {"Stage": x["S"]} if isinstance(x, dict) and "S" in x else {"Expr": E(x)}
                )
                for x in a
            ],
        ]
    }


def samp(d, *a):
    return {"Sample": [d, [E(x) for x in a]]}


def pool(name, cap="inf", **k):
    return {
        "name": name,
        "cap": cap,
        "block": None,
        "evict": "Lru",
        "preempt": "None",
        "queue": None,
        "spill": None,
        "admit_via": None,
        **k,
    }


LIFO = {"By": {"keys": [{"Unary": ["Neg", ctx("Admission")]}]}}


def step(budget, cost=1, chunk=0, serve=None, memory=None, **k):
    return {
        "Step": {
            "budget": E(budget),
            "cost": E(cost),
            "chunk": E(chunk),
            "serve": serve or {"By": []},
            "memory": memory,
            **k,
        }
    }


def stage(name, kind, **k):
    return {"name": name, "kind": kind, **k}


DELAY = {"Ps": {"Ctx": "N"}}


def prog(session, init=(), turn=(), attrs=(), observes=(), **k):
    """session: nested statements; ('hold',pools,body,opts) etc. as dicts with python lists for bodies"""
    blocks = []
    sides = []

    def add(stmts, side):
        i = len(blocks)
        blocks.append(None)
        sides.append(None)
        out = []
        sd = []
        for s in stmts:
            if isinstance(s, dict):
                s = json.loads(json.dumps(s))
                if "Hold" in s:
                    s["Hold"]["body"] = add(s["Hold"]["body"], side)
                if "Loop" in s:
                    s["Loop"] = add(s["Loop"], side)
                if "Fork" in s:
                    s["Fork"] = add(s["Fork"], side)
                if "While" in s:
                    s["While"][1] = add(s["While"][1], side)
                if "Branch" in s:
                    s["Branch"][1] = add(s["Branch"][1], side)
                    s["Branch"][2] = add(s["Branch"][2], side)
            out.append(s)
            sd.append("Workload" if s in ("Turn", "End") or side == "Workload" else "Server")
        blocks[i] = out
        sides[i] = sd
        return i

    i0 = add(init, "Workload")
    i1 = add(turn, "Workload")
    i2 = add(list(session) + ["End"], "Server")
    types = {}
    for blk in (i0, i1):
        for s in blocks[blk]:
            if "Set" in s:
                types[s["Set"][0]] = "Size"
    A = BASE + list(attrs)
    p = dict(
        version=14,
        attrs=A,
        attr_types=["Value"]
        + ["Size"] * 7
        + ["Value"]
        + [types.get(9 + j, "Value") for j in range(len(attrs))],
        sides=sides,
        observes=list(observes),
        pools=[],
        stages=[],
        arrival="None",
        trace=None,
        trace_ordered=False,
        init=i0,
        turn=i1,
        session=i2,
        blocks=blocks,
        horizon=100.0,
        warmup=0.0,
        seed=1,
        hidden=[],
    )
    for i, n in enumerate(
        ["cached", "serial", "turn", "new", "out", "think", "more", "forced", "computed"]
    ):
        p["slot_" + n] = i
    p.update(k)
    return p


def hold(pools, body, reuse=None, cache=None, lease=None):
    """pools: [(poolref, units, reserve|None)]"""
    ps = [(r["base"], r["count"]) for r, _, _ in pools]
    return {
        "Hold": {
            "pools": [
                [
                    r,
                    costp([(r["base"], r["count"])], u),
                    None if v is None else costp([(r["base"], r["count"])], v),
                ]
                for r, u, v in pools
            ],
            "reuse": None if reuse is None else costp(ps, reuse),
            "body": body,
            "cache": None if cache is None else costp(ps, cache),
            "lease": None if lease is None else [lease[0], E(lease[1])],
        }
    }


def grow(r, e):
    return {"Grow": [r, costp([(r["base"], r["count"])], e)]}


def load(r, e):
    return {"Load": [r, costp([(r["base"], r["count"])], e)]}


def branch(c, a, d=()):
    return {"Branch": [E(c), list(a), list(d)]}


def eq(x, y):
    return b("Eq", x, y)


neg = lambda x: {"Unary": ["Neg", x]}


def gen(seed):
    R = random.Random(seed)
    npools = R.randint(1, 3)
    nst = R.randint(1, 3)
    engine = R.random() < 0.7
    stages = []
    kinds = []
    if engine:
        kinds.append("E")
    for i in range(nst):
        kinds.append(R.choice(["fifo", "ps", "delay", "flow"]))
    if "flow" in kinds:
        kinds = [k for k in kinds if k != "flow"] + ["flow", "flow"]
    random_work = R.random() < 0.5

    def half(a, b_):
        return R.randint(int(a * 4), int(b_ * 4)) / 4

    pools = []
    eng_pools = []
    for i in range(npools):
        cap = float(R.randint(8, 30))
        pk = {}
        if R.random() < 0.3:
            pk["block"] = float(R.choice([2, 4]))
            cap = float(R.choice([8, 12, 16, 20, 24]))
        x = R.random()
        if x < 0.4:
            pk["preempt"] = LIFO
        elif x < 0.55:
            pk["preempt"] = {
                "By": {
                    "keys": [
                        R.choice([ctx("Position"), SER, neg(ctx("Admission")), ctx("Decoding")])
                    ],
                    "tail": R.random() < 0.4,
                }
            }
        if R.random() < 0.3:
            pk["queue"] = [R.choice([SER, neg(SER), ctx("Waited"), neg(ctx("Waited"))])]
        if R.random() < 0.25:
            pk["evict"] = {
                "By": [
                    R.choice([ctx("Size"), ctx("Age"), neg(ctx("Last")), ctx("Queued"), neg(SER)])
                ]
            }
        if R.random() < 0.15:
            pk["reserve_held"] = True
        if engine and R.random() < 0.5:
            pk["admit_via"] = 0
        pools.append(pool(f"p{i}", cap, **pk))
    for i, k in enumerate(kinds):
        if k == "E":
            budget = R.choice(
                [
                    num(float(R.randint(3, 12))),
                    num(float(R.randint(3, 12))),
                    call("Max", 2, b("Sub", 10, ctx("Nres"))),
                    b("Add", 4, call("Queued", {"P": S(0)})),
                ]
            )
            cost = b(
                "Add",
                half(0.25, 1),
                b(
                    "Add",
                    b("Mul", 0.125, ctx("Ntok")),
                    b(
                        "Add",
                        b("Mul", 0.03, b("Add", ctx("Kvb"), ctx("Kvp"))),
                        b("Add", b("Mul", 0.01, ctx("Attn")), b("Mul", 0.1, ctx("Ndec"))),
                    ),
                ),
            )
            sk = {}
            x = R.random()
            serve = {"By": []}
            if x < 0.2:
                serve = {"By": [{"Cond": [ctx("Decoding"), num(0.0), num(1.0)]}]}
            elif x < 0.35:
                serve = {"By": [R.choice([ctx("Remaining"), neg(ctx("Admission")), neg(SER)])]}
            elif x < 0.5:
                serve = "ExclusivePrefill"
            elif x < 0.75:

                def it(d):
                    o = []
                    for _ in range(R.randint(1, 3)):
                        y = R.random()
                        if y < 0.4:
                            o.append(
                                {
                                    "Serve": {
                                        **(
                                            {
                                                "only": R.choice(
                                                    [ctx("Decoding"), b("Gt", ctx("Remaining"), 2)]
                                                )
                                            }
                                            if R.random() < 0.4
                                            else {}
                                        ),
                                        **(
                                            {
                                                "by": [
                                                    R.choice(
                                                        [ctx("Remaining"), neg(ctx("Admission"))]
                                                    )
                                                ]
                                            }
                                            if R.random() < 0.3
                                            else {}
                                        ),
                                    }
                                }
                            )
                        elif y < 0.8:
                            o.append(
                                {
                                    "Admit": {
                                        **({"only": ctx("Decoding")} if R.random() < 0.2 else {}),
                                        **(
                                            {
                                                "gate": R.choice(
                                                    [
                                                        b("Eq", ctx("Preempted"), 0),
                                                        b("Lt", ctx("Admitted"), 2),
                                                        b("Lt", ctx("Ntok"), 4),
                                                    ]
                                                )
                                            }
                                            if R.random() < 0.7
                                            else {}
                                        ),
                                    }
                                }
                            )
                        elif d < 2:
                            o.append(
                                {
                                    "Branch": [
                                        R.choice(
                                            [b("Gt", ctx("Ndec"), 0), b("Gt", ctx("Npre"), 2)]
                                        ),
                                        it(d + 1),
                                        it(d + 1),
                                    ]
                                }
                            )
                        else:
                            o.append({"Serve": {}})
                    return o

                sk["iteration"] = (
                    [{"Serve": {}}] * (R.random() < 0.5)
                    + it(0)
                    + [{"Serve": {}}, {"Admit": {"gate": b("Eq", ctx("Preempted"), 0)}}]
                )
            if serve != "ExclusivePrefill" and R.random() < 0.2:
                sk["granule"] = num(float(R.randint(2, 4)))
            chunk = R.choice([0, 0, float(R.randint(3, 6))])
            if "granule" in sk and chunk and sk["granule"]["Num"] > chunk:
                chunk = 0
            memory = R.choice([None, 0])
            stages.append(stage("E", step(budget, cost, chunk, serve, memory, **sk)))
        elif k == "fifo":
            stages.append(stage(f"s{i}", {"Fifo": R.randint(1, 3)}))
        elif k == "ps":
            stages.append(
                stage(f"s{i}", {"Ps": R.choice([num(1.0), num(1.5), call("Min", ctx("N"), 2)])})
            )
        elif k == "delay":
            stages.append(stage(f"s{i}", DELAY))
        else:
            stages.append(stage(f"s{i}", {"Ps": num(half(0.5, 2))}))
    flows = [i for i, k in enumerate(kinds) if k == "flow"]
    nobs = [0]
    observes = list("abcdefgh")

    def amount(hi=6):
        x = R.random()
        if x < 0.5:
            return num(float(R.randint(1, hi)))
        if x < 0.75:
            return b("Add", 1, SER) if not random_work else at(9)
        return at(9)

    def work():
        return samp("Exp", half(0.5, 2)) if random_work and R.random() < 0.6 else num(half(0.25, 3))

    share = R.choice(["MaxMin", "Bottleneck"])
    usedstage = set()

    def obsv(held):
        i = R.randint(0, 7)
        e = R.choice(
            [
                NOW,
                NOW,
                at(0),
                at(8),
                call("Used", {"P": S(R.randrange(npools))}),
                call("CachedIn", {"P": S(R.randrange(npools))}),
                call("Queued", {"P": S(R.randrange(npools))}),
                call("Holders", {"P": S(R.randrange(npools))}),
            ]
            + [
                call("Queue", {"S": S(R.randrange(len(stages)))}),
                call("Work", {"S": S(R.randrange(len(stages)))}),
                call("Busy", {"S": S(R.randrange(len(stages)))}),
            ]
        )
        return obs(i, e)

    def timed(held):
        i = R.randrange(len(kinds))
        k = kinds[i]
        usedstage.add(i)
        if k == "E":
            g = S(R.choice(held)) if held and R.random() < 0.7 else None
            return [run(S(i), amount(8), R.choice(["Prefill", "Decode"]), g)]
        if k == "flow" and R.random() < 0.6:
            a, b2 = sorted(R.sample(flows, 2))
            usedstage.update((a, b2))
            return [run(S(a), work(), also=[S(b2)], share=share)]
        return [run(S(i), work())]

    def stm(depth, held, leg=False):
        o = []
        for _ in range(R.randint(1, 2 if SMALL else 3)):
            x = R.random()
            if x < 0.35:
                o += timed(held)
            elif x < 0.5:
                o.append(obsv(held))
            elif x < 0.75 and depth < (2 if SMALL else 3):
                free = [p for p in range(npools)]
                ps = R.sample(free, R.randint(1, min(2, npools)))
                if len(ps) == 2 and R.random() < 0.5:
                    pass
                body = stm(depth + 1, held + ps, leg) + timed(held + ps)
                cache = amount(8) if R.random() < 0.6 else None
                o.append(
                    hold(
                        [(S(p), amount(5), amount(8) if R.random() < 0.3 else None) for p in ps],
                        body,
                        reuse=(
                            R.choice([at(0), amount(5)]) if cache and R.random() < 0.3 else None
                        ),
                        cache=cache,
                        lease=(
                            (S(R.choice(ps)), R.choice([{"Num": "inf"}, num(half(0.5, 4))]))
                            if R.random() < 0.2
                            else None
                        ),
                    )
                )
            elif x < 0.8 and held:
                o.append(grow(S(R.choice(held)), amount(4)))
            elif x < 0.83 and held:
                o.append({"Release": S(R.choice(held))})
            elif x < 0.86 and not held:
                o.append({"Drop": S(R.randrange(npools))})
            elif x < (0.88 if SMALL else 0.93):
                o.append(
                    branch(
                        b("Eq", b("Sub", SER, b("Mul", 2, call("Floor", b("Div", SER, 2)))), 0),
                        stm(depth + 1, held, leg),
                        stm(depth + 1, held, leg),
                    )
                )
            elif not leg and depth == 0 and R.random() < 0.5:
                o.append({"Fork": stm(1, [], True) + timed([])})
                o += stm(1, [], True)
                o.append("Join")
            else:
                o.append(obsv(held))
        return o

    sess = ["Turn"] + stm(0, []) + stm(0, [])
    if R.random() < 0.5:
        sess += ["Turn"] + stm(0, [])
    for i in range(len(kinds)):
        if i not in usedstage:
            if kinds[i] == "E":
                sess.append(run(S(i), 2, "Prefill"))
            else:
                sess.append(run(S(i), 0.5))
    for f in flows:
        pass
    if flows:
        sess.append(run(S(flows[0]), 0.5, also=[S(flows[1])], share=share))
    arrival = R.choice(
        [
            {"Batch": R.randint(2, 8)},
            {"Batch": R.randint(2, 8)},
            {"Poisson": R.choice([0.3, 0.7])},
            {"Renewal": num(half(0.5, 3))},
            {"Closed": R.randint(1, 5)},
        ]
    )
    ir = prog(
        sess,
        turn=[sett(9, call("Floor", samp("Uniform", 1, 7)))],
        attrs=["x"],
        observes=observes,
        pools=pools,
        stages=stages,
        arrival=arrival,
        horizon=60.0,
        warmup=R.choice([0.0, 0.0, 7.5]),
        seed=seed,
        gauges=[
            {"name": "g0", "expr": call("Used", {"P": S(0)})},
            {"name": "g1", "expr": call("Holders", {"P": S(0)})},
        ],
    )
    return ir


def run_here(ir):
    try:
        program = pyserq.Program.from_json(json.dumps(ir))
    except Exception as error:
        return {"refused": str(error)}
    try:
        report = pyserq.run(program)
    except Exception as error:
        return {"error": str(error)}
    found = json.loads(report.json())
    found.pop("serq_version")
    values, client = (
        {name: [o.times, o.samples] for name, o in observed.items() if o.count}
        for observed in (report.observes, report.client)
    )
    return {"report": found, "values": values, "client": client}


def run_apart(ir):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(5)
        os.close(reader)
        with os.fdopen(writer, "w") as out:
            out.write(json.dumps(run_here(ir)))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as text:
        answer = text.read()
    os.waitpid(child, 0)
    return json.loads(answer) if answer else {"refused": "panic or time"}


if __name__ == "__main__":
    first, last, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    found = []
    for seed in range(first, last):
        ir = gen(seed)
        answer = run_apart(ir)
        if "refused" not in answer:
            found.append({"seed": seed, "ir": ir, **answer})
    with gzip.GzipFile(path, "wb", mtime=0) as out:
        out.write(json.dumps(found, separators=(",", ":")).encode())
    print(f"{len(found)} of {last - first} programs, pyserq {pyserq.__version__}")
