"""Streams a recording through Ganglion with httpx and nothing else.

    npm start                                             # in a checkout: serves the digits
    pip install httpx
    python examples/python/stream.py [URL] [RECORDING.npy]

A thread sends numbered chunks; the number makes a repeat harmless, so whatever goes wrong, the same
chunk is sent again. The main thread reads the outputs and comes back with the id of the last event, so
that no step is missed and none comes twice. To show it, the connection is dropped after every second
event. A client that also survives the server's death must keep what it sent until `durable_seq` has
passed it, see docs/http_api.md, "After a roll-back"; client/ is such a client, in TypeScript.
"""

import ast
import json
import struct
import sys
import threading
import time

import httpx

URL = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8787"
RECORDING = sys.argv[2] if len(sys.argv) > 2 else "examples/digits/recordings/7.npy"
CHUNK_STEPS = 5
# The server gives a sign of life every 8 s; what is silent for longer is dead.
TIMEOUT = httpx.Timeout(10, read=20)


def read_npy(path):
    """The bytes and the shape of an array file, for types of one byte."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack_from("<H", data, 8)
    header = ast.literal_eval(data[10 : 10 + length].decode())
    assert header["descr"] in ("|u1", "|i1", "|b1"), header
    return data[10 + length :], header["shape"]


def send(client, session, seq, values):
    """Posts a chunk as f32 under its number until it is taken."""
    body = struct.pack(f"<{len(values)}f", *values)
    headers = {"Content-Type": "application/octet-stream", "Chunk-Seq": str(seq)}
    pause = 0.1
    while True:
        try:
            answer = client.post(f"/v1/sessions/{session}/chunks", content=body, headers=headers)
            if answer.status_code == 202:
                return answer.json()
            if answer.status_code not in (429, 502, 503, 504):
                raise SystemExit(f"refused: {answer.text}")
            pause = float(answer.headers.get("Retry-After", pause))
        except httpx.TransportError:
            pass  # lost on the way there or back: the number tells the server which
        time.sleep(pause)
        pause = min(5, 2 * pause)


def read(client, session, steps):
    """Yields the output events of the first `steps` steps, over any number of connections."""
    last_id, done, pause = None, 0, 0.1
    while done < steps:
        headers = {"Last-Event-ID": last_id} if last_id else {}
        try:
            with client.stream("GET", f"/v1/sessions/{session}/outputs", headers=headers) as answer:
                answer.raise_for_status()
                event, count = {}, 0
                for line in answer.iter_lines():
                    if line:
                        name, _, value = line.partition(": ")
                        event[name] = value
                        continue
                    if event.get("event") == "output":
                        last_id, output = event["id"], json.loads(event["data"])
                        assert output["start_step"] == done, (output["start_step"], done)
                        done += output["steps"]
                        yield output
                        pause, count = 0.1, count + 1
                        if done >= steps or count == 2:
                            break  # hangs up; the next connection goes on behind last_id
                    event = {}
        except httpx.TransportError:
            time.sleep(pause)
            pause = min(5, 2 * pause)


def main():
    data, (steps, pixels) = read_npy(RECORDING)
    with httpx.Client(base_url=URL, timeout=TIMEOUT) as client:
        opened = client.post("/v1/sessions", json={})
        opened.raise_for_status()
        session = opened.json()["id"]

        def send_all():
            for seq, step in enumerate(range(0, steps, CHUNK_STEPS)):
                chunk = data[step * pixels : (step + CHUNK_STEPS) * pixels]
                send(client, session, seq, list(chunk))

        sender = threading.Thread(target=send_all)
        sender.start()
        spikes = [0] * 10
        for output in read(client, session, steps):
            for row in output["data"]:
                spikes = [count + int(spike) for count, spike in zip(spikes, row)]
            print("steps to", output["start_step"] + output["steps"], "spikes", spikes)
        sender.join()
        print("it is a", spikes.index(max(spikes)))
        client.delete(f"/v1/sessions/{session}")


main()
