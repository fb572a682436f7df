"""S4D-DFouT in PyTorch: the minimal S4D layer of state-spaces/s4 whose poles start on one grid of frequencies
("Uncovering the Spectral Bias in Diagonal State Space Models", arXiv 2508.20441).

Tensors have the names of the official example.py, so `s4d-fast convert` reads the state dict of Network:

    net = Network(inputs=1, outputs=2)
    optimizer = torch.optim.AdamW(parameter_groups(net, lr=0.01, weight_decay=0.05))
    torch.save(net.state_dict(), "net.pth")

    s4d-fast convert net.pth net.safetensors --rate 16000 --labels yes,no
"""
import math

import torch
from torch import nn
from torch.nn import functional as F


class Kernel(nn.Module):
    """The kernels [channels, length]. SSM h starts with the angles 2π(n·channels + h)/(states·channels), n < states/2, and
    with a damping ξ, log-uniform in [xi_min, xi_max]: Δ = ξ and A = -1/2 + i·angle/ξ. With single=True all SSMs have the
    angles of h = 0."""

    def __init__(self, channels, states=64, xi_min=0.001, xi_max=0.1, single=False):
        super().__init__()
        log_xi = math.log(xi_min) + torch.rand(channels, dtype=torch.float64) * math.log(xi_max / xi_min)
        h = torch.arange(channels, dtype=torch.float64).unsqueeze(-1) * (not single)
        angles = 2 * math.pi * (torch.arange(states // 2) * channels + h) / (states * channels)
        self.log_dt = nn.Parameter(log_xi.float())
        self.log_A_real = nn.Parameter(torch.full((channels, states // 2), math.log(0.5)))
        self.A_imag = nn.Parameter((angles / log_xi.exp().unsqueeze(-1)).float())
        self.C = nn.Parameter(torch.randn(channels, states // 2, 2) * math.sqrt(0.5))

    def forward(self, length):
        a = torch.complex(-self.log_A_real.exp(), self.A_imag)
        step = a * self.log_dt.exp().unsqueeze(-1)
        weights = torch.view_as_complex(self.C) * (step.exp() - 1) / a
        powers = (step.unsqueeze(-1) * torch.arange(length, device=a.device)).exp()
        return 2 * (weights.unsqueeze(-1) * powers).sum(1).real


class S4D(nn.Module):
    """The layer, [batch, channels, length] to the same shape. Options are those of Kernel."""

    def __init__(self, channels, dropout=0.0, **options):
        super().__init__()
        self.D = nn.Parameter(torch.randn(channels))
        self.kernel = Kernel(channels, **options)
        self.dropout = nn.Dropout1d(dropout)
        self.output_linear = nn.Sequential(nn.Conv1d(channels, 2 * channels, 1), nn.GLU(dim=-2))

    def forward(self, u):
        length = u.shape[-1]
        k = torch.fft.rfft(self.kernel(length), n=2 * length)
        y = torch.fft.irfft(torch.fft.rfft(u, n=2 * length) * k, n=2 * length)[..., :length]
        return self.dropout(self.output_linear(self.dropout(F.gelu(y + self.D.unsqueeze(-1) * u))))


class Network(nn.Module):
    """The post-norm network of example.py, [batch, inputs, length] to [batch, outputs]."""

    def __init__(self, inputs, outputs, channels=128, layers=4, **options):
        super().__init__()
        self.encoder = nn.Linear(inputs, channels)
        self.s4_layers = nn.ModuleList(S4D(channels, **options) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(channels) for _ in range(layers))
        self.decoder = nn.Linear(channels, outputs)

    def forward(self, x):
        x = self.encoder(x.mT).mT
        for layer, norm in zip(self.s4_layers, self.norms):
            x = norm((x + layer(x)).mT).mT
        return self.decoder(x.mean(-1))


def parameter_groups(net, lr, weight_decay):
    """Groups for AdamW: Δ and A have a learning rate of at most 0.001 and no weight decay."""
    poles = [p for name, p in net.named_parameters() if name.endswith(("log_dt", "log_A_real", "A_imag"))]
    others = [p for p in net.parameters() if not any(p is q for q in poles)]
    return [{"params": poles, "lr": min(lr, 0.001), "weight_decay": 0.0}, {"params": others, "lr": lr, "weight_decay": weight_decay}]
