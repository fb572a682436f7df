"""The network of minimal S4D layers, under the names of its checkpoints: loads each, strictly, and prints its logits as a line of JSON.

usage: minimal.py CHECKPOINT...; the input x[i][c][t] comes on stdin as JSON
"""

import json
import sys

import torch
from torch import nn
from torch.nn import functional as F


class Kernel(nn.Module):
    def __init__(self, log_dt, c, log_a_real, a_imag):
        super().__init__()
        self.log_dt = nn.Parameter(torch.empty(log_dt))
        self.C = nn.Parameter(torch.empty(c))
        self.log_A_real = nn.Parameter(torch.empty(log_a_real))
        self.A_imag = nn.Parameter(torch.empty(a_imag))

    def forward(self, length):
        a = torch.complex(-self.log_A_real.exp(), self.A_imag)
        step = a * self.log_dt.exp().unsqueeze(-1)
        weights = torch.view_as_complex(self.C) * (step.exp() - 1) / a
        powers = (step.unsqueeze(-1) * torch.arange(length)).exp()
        return 2 * (weights.unsqueeze(-1) * powers).sum(1).real


class Layer(nn.Module):
    def __init__(self, channels, modes):
        super().__init__()
        self.D = nn.Parameter(torch.empty(channels))
        self.kernel = Kernel(channels, (channels, modes, 2), (channels, modes), (channels, modes))
        self.output_linear = nn.Sequential(nn.Conv1d(channels, 2 * channels, 1), nn.GLU(dim=-2))

    def forward(self, u):
        length = u.shape[-1]
        k = torch.fft.rfft(self.kernel(length), n=2 * length)
        y = torch.fft.irfft(torch.fft.rfft(u, n=2 * length) * k, n=2 * length)[..., :length]
        return self.output_linear(F.gelu(y + self.D.unsqueeze(-1) * u))


class Network(nn.Module):
    def __init__(self, inputs, channels, modes, layers, outputs):
        super().__init__()
        self.encoder = nn.Linear(inputs, channels)
        self.s4_layers = nn.ModuleList(Layer(channels, modes) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(channels) for _ in range(layers))
        self.decoder = nn.Linear(channels, outputs)

    def forward(self, x):
        x = self.encoder(x.mT).mT
        for layer, norm in zip(self.s4_layers, self.norms):
            x = norm((x + layer(x)).mT).mT
        return self.decoder(x.mean(-1))


x = torch.tensor(json.load(sys.stdin), dtype=torch.float64)
for path in sys.argv[1:]:
    state = torch.load(path, map_location="cpu")
    channels, inputs = state["encoder.weight"].shape
    network = Network(
        inputs, channels, state["s4_layers.0.kernel.A_imag"].shape[1],
        1 + max(int(name.split(".")[1]) for name in state if name.startswith("norms.")), state["decoder.bias"].shape[0],
    )
    network.load_state_dict(state, strict=True)
    network.double()
    with torch.no_grad():
        print(json.dumps(network(x).tolist()))
