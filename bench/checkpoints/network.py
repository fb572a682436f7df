"""The network of minimal S4D layers in PyTorch, from its checkpoint, to be compared and timed.

usage: network.py CHECKPOINT PIXELS LENGTH MEAN STD THREADS, where PIXELS is a file of float32
[image][channel][LENGTH], and MEAN and STD are JSON lists with one value per channel. The reply to every
line on stdin is one line:

    logits FILE                    writes float32 [image][class] to FILE; prints the number of images
    rate KERNELS BATCH SECONDS     prints images per second, measured for at least SECONDS; KERNELS is
                                   recomputed (for every batch) or cached

The position-wise linear map is the fastest of three equivalent formulations at that batch size.
"""

import array
import json
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


def conv1d(weight, bias, y):
    return F.conv1d(y, weight, bias)


def baddbmm(weight, bias, y):
    return torch.baddbmm(bias.view(1, -1, 1), weight[..., 0].expand(len(y), -1, -1), y)


def linear(weight, bias, y):
    return F.linear(y.mT, weight[..., 0], bias).mT


class Layer:
    """A minimal S4D layer with its LayerNorm."""

    def __init__(self, state, i):
        own = {name.split(".", 2)[2]: x for name, x in state.items() if name.startswith(f"s4_layers.{i}.")}
        self.log_dt, self.d = own["kernel.log_dt"], own["D"]
        self.log_a_real, self.a_imag, self.c = own["kernel.log_A_real"], own["kernel.A_imag"], own["kernel.C"]
        self.mixing = own["output_linear.0.weight"], own["output_linear.0.bias"]
        self.norm = state[f"norms.{i}.weight"], state[f"norms.{i}.bias"]
        self.cached = None

    def spectrum(self, length, cache):
        if cache and self.cached is not None:
            return self.cached
        a = torch.complex(-self.log_a_real.exp(), self.a_imag)
        step = a * self.log_dt.exp().unsqueeze(-1)
        powers = (step.unsqueeze(-1) * torch.arange(length)).exp()
        weights = torch.view_as_complex(self.c) * (step.exp() - 1) / a
        kernel = 2 * torch.einsum("hm,hml->hl", weights, powers).real
        self.cached = torch.fft.rfft(kernel, n=2 * length)
        return self.cached

    def forward(self, u, mix, cache):
        length = u.shape[-1]
        spectrum = torch.fft.rfft(u, n=2 * length) * self.spectrum(length, cache)
        y = torch.fft.irfft(spectrum, n=2 * length)[..., :length] + self.d.unsqueeze(-1) * u
        u = u + F.glu(mix(*self.mixing, F.gelu(y)), dim=1)
        return F.layer_norm(u.mT, u.shape[1:2], *self.norm).mT


class Network:
    def __init__(self, state):
        self.encoder = state["encoder.weight"], state["encoder.bias"]
        self.decoder = state["decoder.weight"], state["decoder.bias"]
        count = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("norms."))
        self.layers = [Layer(state, i) for i in range(count)]
        self.mixing = {}  # by the number of sequences

    def forward(self, x, mix=conv1d, cache=False):
        x = F.linear(x.mT, *self.encoder).mT
        for layer in self.layers:
            x = layer.forward(x, mix, cache)
        return F.linear(x.mean(-1), *self.decoder)

    def fastest(self, x):
        """The fastest formulation of the linear map for batches like x."""
        if len(x) not in self.mixing:
            times = {mix: min(time_of(lambda: self.forward(x, mix, True)) for _ in range(4)) for mix in (conv1d, baddbmm, linear)}
            self.mixing[len(x)] = min(times, key=times.get)
        return self.mixing[len(x)]


def time_of(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def logits(network, x, path):
    out = torch.cat([network.forward(part) for part in x.split(50)])
    with open(path, "wb") as f:
        array.array("f", out.flatten().tolist()).tofile(f)
    return len(out)


def rate(network, x, kernels, batch, seconds):
    batch, seconds = int(batch), float(seconds)
    parts = [x[i : i + batch] for i in range(0, len(x) - batch + 1, batch)]
    mix, cache = network.fastest(parts[0]), kernels == "cached"
    network.forward(parts[0], mix, cache)
    done, begin = 0, time.perf_counter()
    while done == 0 or time.perf_counter() - begin < seconds:
        network.forward(parts[done % len(parts)], mix, cache)
        done += 1
    return done * batch / (time.perf_counter() - begin)


def main():
    checkpoint, pixels, length, mean, std, threads = sys.argv[1:]
    torch.set_num_threads(int(threads))
    state = torch.load(checkpoint, map_location="cpu")
    network = Network(state.get("model", state))
    mean, std = torch.tensor(json.loads(mean)), torch.tensor(json.loads(std))
    with open(pixels, "rb") as f:
        x = torch.frombuffer(bytearray(f.read()), dtype=torch.float32)
    with torch.inference_mode():
        x = x.view(-1, len(mean), int(length))
        x = (x - mean.unsqueeze(-1)) / std.unsqueeze(-1)
        for line in sys.stdin:
            command, *arguments = line.split()
            reply = {"logits": logits, "rate": rate}[command](network, x, *arguments)
            print(reply, flush=True)


main()
