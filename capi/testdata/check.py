"""Writes the events of a raw float32 file as JSON, and checks the rest of the Python module.

    check.py MODEL FILE
"""
import gc
import json
import os
import sys
import threading

import numpy as np

import s4d_fast


def rejects(kind, call, *words):
    try:
        call()
    except kind as e:
        assert all(w in str(e) for w in words), e
        return e
    raise AssertionError(f"no {kind.__name__}, expected one with {words}")


name, path = sys.argv[1:]
x = np.fromfile(path, np.float32)

with s4d_fast.Model(name) as standard:
    assert standard.options.threshold > 0.01
    model = standard.with_options(threshold=0.01, off_threshold=0.01, refractory=0, smoothing=0.05, confirm=1)
assert model.options.confirm == 1 and model.sample_rate > 0 and "none" in model.labels

whole = model.recognize(x)
with model.stream() as stream:  # in blocks, with a snapshot between them
    assert stream.posterior() is None
    events = stream.process(x[:12345])
    assert stream.position == 12345
    posterior = stream.posterior()
    assert posterior.shape == (len(model.labels),) and np.all((posterior >= 0) & (posterior <= 1))
    state = stream.snapshot()
    rest = stream.process(x[12345:]) + stream.flush()
    stream.restore(state)
    assert stream.position == 12345
    again = stream.process(x[12345:].astype(np.float64)) + stream.flush()
    assert again == rest and events + rest == whole
    stream.reset()
    assert stream.position == 0 and stream.process(x) + stream.flush() == whole
    assert stream.skip(100) == [] and stream.position == len(x) + 100
    damaged = bytearray(state)
    damaged[50] ^= 1
    rejects(s4d_fast.Error, lambda: stream.restore(damaged), "checksum")
    rejects(ValueError, lambda: stream.process(x[:8].reshape(2, 4)), "(2, 4)")
    rejects(TypeError, lambda: stream.process(np.arange(8)), "int64")
assert rejects(s4d_fast.Error, lambda: stream.process(x)).status == 2
stream.close()

integers = np.round(x * 32767).astype(np.int16)
assert model.recognize(integers) == model.recognize(integers / 32768)
reversed_twice = x[::-1].copy()[::-1]  # not contiguous
assert model.recognize(reversed_twice) == whole

rejects(s4d_fast.Error, lambda: s4d_fast.Model("abacus"), "abacus")
s4d_fast.Model("wake").close()
rejects(s4d_fast.Error, lambda: s4d_fast.Model(b"nonsense"), "model")
rejects(s4d_fast.Error, lambda: model.with_options(threshold=2), "threshold")
rejects(TypeError, lambda: model.with_options(treshold=0.5), "treshold")
options = model.options
options.threshold = 0.5
model.with_options(options, threshold=0.75, off_threshold=0.5).close()
assert options.threshold == 0.5, options.threshold  # the caller's options do not change

# Numbers beyond the integers of the library, and paths that would end earlier.
for lost in (2**64 + 5, 2**63, -(2**63) - 1):
    rejects(OverflowError, lambda: model.stream().skip(lost), f"{lost} samples to skip")
for lost in (2**63 - 1, -5):
    rejects(s4d_fast.Error, lambda: model.stream().skip(lost), f"{lost} samples to skip")
for confirm in (2**32 + 1, np.int64(2**32 + 1)):
    rejects(OverflowError, lambda: model.with_options(confirm=confirm), "confirm")
rejects(OverflowError, lambda: setattr(model.options, "confirm", -(2**31) - 1), "confirm")
rejects(TypeError, lambda: setattr(model.options, "treshold", 0.5), "treshold")
rejects(ValueError, lambda: s4d_fast.Model(sys.argv[0] + "\0.safetensors"), "null byte")

# An error has all events before it, and a stream that another thread uses can be closed later.
long = np.tile(x, 3)
with model.stream() as stream:
    def fails(handle, room, capacity, count):
        assert stream_process(handle, long.ctypes.data, len(long), room, capacity, count) == 0
        return 8
    stream_process = s4d_fast._lib.s4d_stream_process
    events = rejects(s4d_fast.Error, lambda: stream._emit(fails)).events
    assert len(events) > 16 and events + stream.flush() == model.recognize(long), events
    assert rejects(s4d_fast.Error, lambda: stream._emit(lambda *_: 8)).events == []
stream = model.stream()
stream._destroy = lambda _: 3
handle = stream._handle
assert rejects(s4d_fast.Error, stream.close).status == 3
del stream._destroy
stream.close()
assert s4d_fast._lib.s4d_stream_reset(handle) == 2

results = [None] * 4
def run(i):
    results[i] = model.recognize(x)
threads = [threading.Thread(target=run, args=(i,)) for i in range(len(results))]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert all(r == whole for r in results)

child = os.fork()
if child == 0:
    try:
        os._exit(0 if rejects(s4d_fast.Error, lambda: model.stream(), "fork").status == 10 else 1)
    finally:
        os._exit(1)
assert os.waitpid(child, 0)[1] == 0

lost = model.stream()
del lost
gc.collect()
json.dump({"level": s4d_fast.level(), "version": s4d_fast.version(), "events": whole}, sys.stdout)
