"""Computes kernels with the layers of sources/torch.py, whose path is the argument. Standard input is a JSON
array of cases. The output has their kernels in float64 and in float32."""

import importlib.util
import json
import sys

import torch

spec = importlib.util.spec_from_file_location("peer", sys.argv[1])
peer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(peer)


def kernel(case):
    layer = getattr(peer, case["layer"])(case["channels"], case["modes"])
    for name, values in case["parameters"].items():
        shape = getattr(layer, name).shape
        # One set of poles may be given for all channels.
        value = torch.tensor(values).reshape(-1, *shape[1:]).expand(shape).clone()
        setattr(layer, name, torch.nn.Parameter(value))
    return layer.kernel(case["length"]).flatten().tolist()


torch.set_grad_enabled(False)
cases, kernels = json.load(sys.stdin), {}
for dtype in ("float64", "float32"):
    torch.set_default_dtype(getattr(torch, dtype))
    kernels[dtype] = [kernel(case) for case in cases]
json.dump(kernels, sys.stdout)
