"""S4D, DSS and S4 in PyTorch on the processor, written as in published code without CUDA extensions.
Requests and replies as in peer.h."""

import math
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


class SSM(nn.Module):
    """S4D-Lin with zero-order hold: the kernels of all channels, and the convolution with them."""

    def __init__(self, channels, modes):
        super().__init__()
        self.log_dt = nn.Parameter(torch.empty(channels).uniform_(math.log(0.001), math.log(0.1)))
        self.log_a_real = nn.Parameter(torch.full((channels, modes), math.log(0.5)))
        self.a_imag = nn.Parameter(math.pi * torch.arange(modes).repeat(channels, 1).float())
        self.c = nn.Parameter(torch.randn(channels, modes, 2))
        self.d = nn.Parameter(torch.randn(channels))

    def kernel(self, length):
        a = torch.complex(-self.log_a_real.exp(), self.a_imag)
        step = a * self.log_dt.exp().unsqueeze(-1)
        powers = (step.unsqueeze(-1) * torch.arange(length)).exp()
        weights = torch.view_as_complex(self.c) * (step.exp() - 1) / a
        return 2 * torch.einsum("hm,hml->hl", weights, powers).real

    def convolve(self, u, kernel):
        length = u.shape[-1]
        spectrum = torch.fft.rfft(u, n=2 * length) * torch.fft.rfft(kernel, n=2 * length)
        return torch.fft.irfft(spectrum, n=2 * length)[..., :length] + self.d.unsqueeze(-1) * u

    def forward(self, u):
        return self.convolve(u, self.kernel(u.shape[-1]))


def legs(modes):
    """HiPPO-LegS as a diagonal (the half with Im < 0) minus P P*, with P and B in that basis."""
    n = torch.arange(2 * modes, dtype=torch.double)
    p, b = (n + 0.5).sqrt(), (2 * n + 1).sqrt()
    skew = (b.unsqueeze(-1) * b).tril(-1) / 2
    frequencies, v = torch.linalg.eigh(1j * (skew - skew.mT).to(torch.cdouble))
    basis = v[:, :modes].conj().mT
    diagonal = -0.5 + 1j * frequencies[:modes]
    return diagonal, basis @ p.to(torch.cdouble), basis @ b.to(torch.cdouble)


def stored(z):
    return nn.Parameter(torch.view_as_real(z).float())


class DSS(SSM):
    """The kernels of the official code with disc="dss"."""

    def __init__(self, channels, modes):
        super().__init__(channels, modes)
        a, _, b = (x.repeat(channels, 1) for x in legs(modes))
        self.a_real, self.a_imag = nn.Parameter(-a.real.float()), nn.Parameter(a.imag.float())
        self.b = stored(b)

    def kernel(self, length):
        a = torch.complex(-self.a_real, self.a_imag)
        step = a * self.log_dt.exp().unsqueeze(-1)
        grows = a.real > 0
        last = torch.where(grows, length - 1, 0)
        towards = torch.where(grows, -step, step)
        x = ((towards * length).exp() - 1) * a
        weights = torch.view_as_complex(self.c) * torch.view_as_complex(self.b)
        weights = weights * (towards.exp() - 1) * x.conj() / (x * x.conj() + 1e-7)
        powers = (step.unsqueeze(-1) * (torch.arange(length) - last.unsqueeze(-1))).exp()
        return torch.einsum("hm,hml->hl", weights, powers).real


def both(z):
    return torch.cat([z, z.conj()], -1)


class S4(SSM):
    """Diagonal plus low rank: the Cauchy kernel, Woodbury's identity and an inverse transform."""

    def __init__(self, channels, modes):
        super().__init__(channels, modes)
        a, p, b = (x.repeat(channels, 1) for x in legs(modes))
        self.log_a_real, self.a_imag = nn.Parameter((-a.real).log().float()), nn.Parameter(a.imag.float())
        self.p, self.b = stored(p), stored(b)

    def kernel(self, length):
        dt = self.log_dt.exp().unsqueeze(-1)
        a = dt * torch.complex(-self.log_a_real.exp(), self.a_imag)
        p, b, c = (torch.view_as_complex(x) for x in (self.p, self.b, self.c))
        nodes = torch.exp(-2j * math.pi / length * torch.arange(length // 2 + 1))
        z = 2 * (1 - nodes) / (1 + nodes)
        left, right = torch.stack([b, p]), torch.stack([c, p.conj()])
        products = both(dt * left.unsqueeze(1) * right.unsqueeze(0))
        sums = (products.unsqueeze(-1) / (z - both(a).unsqueeze(-1))).sum(-2)
        response = sums[0, 0] - sums[0, 1] * sums[1, 0] / (1 + sums[1, 1])
        return torch.fft.irfft(response * 2 / (1 + nodes), n=length)


# Three equivalent formulations of the position-wise linear map. Which is fastest depends on the
# BLAS and on the sizes.


def conv1d(mixing, y):
    return mixing(y)


def baddbmm(mixing, y):
    return torch.baddbmm(mixing.bias.view(1, -1, 1), mixing.weight[..., 0].expand(len(y), -1, -1), y)


def linear(mixing, y):
    return F.linear(y.mT, mixing.weight[..., 0], mixing.bias).mT


class Network(nn.Module):
    """Encoder, post-norm blocks of SSM, GELU, mixing and GLU, mean over the positions, decoder."""

    def __init__(self, layer, colours, channels, modes, layers, classes):
        super().__init__()
        self.mix = conv1d
        self.encoder = nn.Linear(colours, channels)
        self.decoder = nn.Linear(channels, classes)
        self.ssms = nn.ModuleList(layer(channels, modes) for _ in range(layers))
        self.mixings = nn.ModuleList(nn.Conv1d(channels, 2 * channels, 1) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(channels) for _ in range(layers))

    def forward(self, x):
        x = self.encoder(x).mT
        for ssm, mixing, norm in zip(self.ssms, self.mixings, self.norms):
            y = self.mix(mixing, F.gelu(ssm(x)))
            x = norm((x + F.glu(y, dim=-2)).mT).mT
        return self.decoder(x.mean(-1))


def vandermonde(r):
    ssm = SSM(r["H"], r["M"])
    return lambda: ssm.kernel(r["L"]), 1


def cauchy(r):
    ssm = S4(r["H"], r["M"])
    return lambda: ssm.kernel(r["L"]), 1


def conv(r):
    rows, channels = 16, 128
    ssm = SSM(channels, 2)
    u, kernel = torch.randn(rows, channels, r["L"]), torch.randn(channels, r["L"])
    return lambda: ssm.convolve(u, kernel), rows * channels


def step(r):
    channels, modes = r["H"], r["M"]
    decay = torch.exp(torch.complex(-torch.rand(channels, modes), torch.randn(channels, modes)))
    b, c = torch.randn(2, channels, modes, dtype=torch.cfloat)
    x = torch.randn(channels)
    state = torch.zeros_like(b)

    def sample():
        nonlocal state
        state = decay * state + b * x.unsqueeze(-1)
        return 2 * (c * state).sum(-1).real

    return sample, 1


def train(r, layer=SSM):
    colours, classes = 3, 10
    net = Network(layer, colours, r["H"], r["M"], r["layers"], classes)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-6)
    x, labels = torch.randn(r["B"], r["L"], colours), torch.arange(r["B"]) % classes

    def update():
        optimizer.zero_grad()
        with torch.enable_grad():
            F.cross_entropy(net(x), labels).backward()
        optimizer.step()

    def duration(mix):
        net.mix = mix
        return min(time_of(update, 1) for _ in range(3))

    net.mix = min((conv1d, baddbmm, linear), key=duration)
    return update, 1


def time_of(call, calls):
    begin = time.perf_counter()
    for _ in range(calls):
        call()
    return time.perf_counter() - begin


def main():
    torch.set_grad_enabled(False)
    torch.manual_seed(0)
    operations = {f.__name__: f for f in (vandermonde, cauchy, conv, step, train)}
    operations["train-dss"] = lambda r: train(r, DSS)
    operations["train-s4"] = lambda r: train(r, S4)
    last, call, calls, units = None, None, 1, 1
    for line in sys.stdin:
        op, threads, *sizes, seconds = line.split()
        seconds = float(seconds)
        if [op, threads, sizes] != last:
            last = [op, threads, sizes]
            call = None
            if op in operations and (threads == "1" or op.startswith("train")):
                torch.set_num_threads(int(threads))
                call, units = operations[op](dict(zip("n L H M m k B layers".split(), map(int, sizes))))
                time_of(call, 1)
                calls = max(1, int(seconds / time_of(call, 1)))
        print(f"{1e9 * time_of(call, calls) / calls / units:.6g}" if call else "0", flush=True)


if __name__ == "__main__":
    main()
