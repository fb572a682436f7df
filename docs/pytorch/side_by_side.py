"""S4D networks that are trained side by side on one GPU, for paper.py.

The layers are differentiated by hand, because moving memory takes nearly all of the time. Activations are stored as
[network, pair, channel, position, 2]: examples b and b + batch/2 are the real and the imaginary part of one complex
sequence, so one complex transform convolves both with a real kernel. Every layer writes its output into a buffer whose
second half stays zero, which is the input of the next transform.
"""
import math

import torch
from torch.nn import functional as F


# Elementwise functions, compiled on a GPU. Per-network weights [network, channel] broadcast over activations.

def wide(w):
    return w[:, None, :, None, None]


def encode(x, w, b, out):
    """Writes the encoder's output for x [input, pair, position, 2]."""
    y = wide(b)
    for i in range(x.shape[0]):
        y = y + wide(w[..., i]) * x[i][None, :, None]
    out.copy_(y)


def multiply(z, re, im):
    """The product of complex numbers z, stored in pairs, and of a spectrum: re = (Re, Re), im = (-Im, Im)."""
    return z * re[:, None] + z.flip(-1) * im[:, None]


def activate(y, x, D, keep, low):
    g = F.gelu(y + wide(D) * x) * keep
    return g.bfloat16() if low else g


def gate(z, b, x, keep):
    """The two halves of the linear map's output and the sum of the residual branch and GLU."""
    p, q = (z.to(x.dtype) + wide(b)).chunk(2, 2)
    s = torch.sigmoid(q)
    return p, s, x + p * s * keep


def mix(z, b, x, keep, w, c, out):
    """Writes LayerNorm(x + GLU(z))."""
    r = gate(z, b, x, keep)[2]
    mean, square = r.mean(2, keepdim=True), (r * r).mean(2, keepdim=True)
    out.copy_((r - mean) * torch.rsqrt((square - mean * mean).clamp_min(0) + 1e-5) * wide(w) + wide(c))


def mix_backward(g, z, b, x, keep, w):
    """Gradients of x along the residual branch, of z, and per pair those of w, c and b."""
    p, s, r = gate(z, b, x, keep)
    h = g * wide(w)
    mean, square = r.mean(2, keepdim=True), (r * r).mean(2, keepdim=True)
    first, second = h.mean(2, keepdim=True), (h * r).mean(2, keepdim=True)
    scale = torch.rsqrt((square - mean * mean).clamp_min(0) + 1e-5)
    n = (r - mean) * scale
    gr = scale * (h - first - n * scale * (second - mean * first))
    gp, gq = gr * s * keep, gr * p * s * (1 - s) * keep
    return (gr, torch.cat([gp, gq], 2).to(z.dtype), (g * n).sum((3, 4)), g.sum((3, 4)),
            torch.cat([gp.sum((3, 4)), gq.sum((3, 4))], 2))


def activate_backward(g, y, x, D, keep, out):
    """Writes the gradient of y and returns that of D per pair."""
    v = y + wide(D) * x
    slope = 0.5 * (1 + torch.erf(v * 0.7071067811865476)) + v * torch.exp(-0.5 * v * v) * 0.3989422804014327
    gv = g.to(x.dtype) * keep * slope
    out.copy_(gv)
    return (gv * x).sum((3, 4))


def correlate(z, d):
    """The sum over pairs of conj(z)·d."""
    a, b, c, e = z[..., 0], z[..., 1], d[..., 0], d[..., 1]
    return torch.stack([(a * c + b * e).sum(1), (a * e - b * c).sum(1)], -1)


def add(gr, D, gv, gu):
    return gr + wide(D) * gv + gu


def kernels(log_dt, log_A_real, A_imag, C, blocks, block):
    """Kernels [..., blocks·block] of S4D with zero-order hold, K[l] = Re Σ 2·C·(exp(ΔA) - 1)/A·exp(l·ΔA). Tap
    i·block + j is a product of a factor for i and one for j, so few exponentials are needed."""
    dt, r = log_dt.exp()[..., None], log_A_real.exp()
    re, im = -r * dt, A_imag * dt
    er, ei = re.exp() * im.cos() - 1, re.exp() * im.sin()
    norm = 2 / (r * r + A_imag * A_imag)
    pr, pi = (ei * A_imag - er * r) * norm, -(er * A_imag + ei * r) * norm
    wr, wi = C[..., 0] * pr - C[..., 1] * pi, C[..., 0] * pi + C[..., 1] * pr
    i = torch.arange(blocks, device=re.device, dtype=re.dtype) * block
    j = torch.arange(block, device=re.device, dtype=re.dtype)
    e, c, s = (re[..., None] * i).exp(), (im[..., None] * i).cos(), (im[..., None] * i).sin()
    wr, wi = wr[..., None], wi[..., None]
    left = torch.cat([e * (wr * c - wi * s), -e * (wr * s + wi * c)], -2)
    e = (re[..., None] * j).exp()
    right = torch.cat([e * (im[..., None] * j).cos(), e * (im[..., None] * j).sin()], -2)
    return torch.matmul(left.transpose(-1, -2), right).flatten(-2)


class Functions:
    """The functions above. Compiled ones get detached tensors, so that training and evaluation share them."""

    def __init__(self, compiled):
        make = (lambda f: torch.compile(f, dynamic=False)) if compiled else (lambda f: f)
        self.kernels = make(kernels)
        for f in (encode, multiply, activate, mix, mix_backward, activate_backward, correlate, add):
            setattr(self, f.__name__, self.detached(make(f)))

    @staticmethod
    def detached(f):
        return lambda *args: f(*[a.detach() if torch.is_tensor(a) else a for a in args])


class Layers(torch.autograd.Function):
    """Encoder, residual layers and mean over positions: x [input, pair, position, 2] to [network, pair, channel, 2].
    The other arguments are dropout's factors, the spectra of the kernels, in pairs, and weights, all [layer, ...]."""

    @staticmethod
    def forward(ctx, net, x, keep, spectra, ew, eb, *weights):
        f, size = net.functions, net.length
        re = spectra[..., :1].expand_as(spectra).contiguous().unbind()
        im = torch.stack([-spectra[..., 1], spectra[..., 1]], -1)
        keep, (D, W, b, nw, nb) = keep.unbind(), [w.unbind() for w in weights]
        W = (weights[1].bfloat16() if net.low else weights[1]).unsqueeze(2).unbind()
        ctx.net, ctx.saved = net, []
        ctx.arguments = x, keep, re, (-im).unbind(), D, W, b, nw
        f.encode(x, ew, eb, net.state(0))
        for i, imaginary in enumerate(im.unbind()):
            u, (keep_g, keep_z) = net.state(i), keep[i].unbind()
            s = torch.view_as_real(torch.fft.fft(torch.view_as_complex(net.states[i])))
            y = torch.view_as_complex(f.multiply(s, re[i], imaginary))
            y = torch.view_as_real(torch.fft.ifft(y, norm="forward"))[..., :size, :]
            g = f.activate(y, u, D[i], keep_g, net.low)
            z = torch.matmul(W[i], g.flatten(-2)).view(*g.shape[:2], -1, size, 2)
            f.mix(z, b[i], u, keep_z, nw[i], nb[i], net.state(i + 1))
            if net.training:
                ctx.saved.append((s, y, g, z))
        return net.state(len(D)).mean(3)

    @staticmethod
    def backward(ctx, gradient):
        net, f, size = ctx.net, ctx.net.functions, ctx.net.length
        x, keep, re, im, D, W, b, nw = ctx.arguments
        g = (gradient / size)[..., None, :].expand(*gradient.shape[:3], size, 2).contiguous()
        spectra, linear, rows = [], [], []
        gv = net.scratch[..., :size, :]
        for i in reversed(range(len(D))):
            s, y, a, z = ctx.saved.pop()
            u, (keep_g, keep_z) = net.state(i), keep[i].unbind()
            gr, gz, *row = f.mix_backward(g, z, b[i], u, keep_z, nw[i])
            gz = gz.flatten(-2)
            ga = torch.matmul(W[i].transpose(-1, -2), gz).view(a.shape)
            linear.append(torch.matmul(gz, a.flatten(-2).transpose(-1, -2)).sum(1, dtype=g.dtype))
            rows.append((f.activate_backward(ga, y, u, D[i], keep_g, gv), *row))
            d = torch.view_as_real(torch.fft.fft(torch.view_as_complex(net.scratch)))
            spectra.append(f.correlate(s, d))
            d = torch.view_as_complex(f.multiply(d, re[i], im[i]))
            gu = torch.view_as_real(torch.fft.ifft(d, norm="forward"))[..., :size, :]
            g = f.add(gr, D[i], gv, gu)
        gD, gnw, gnb, gb = [torch.stack(r[::-1]).sum(2) for r in zip(*rows)]
        gew = torch.stack([(g * xi[None, :, None]).sum((1, 3, 4)) for xi in x], -1)
        return (None, None, None, torch.stack(spectra[::-1]), gew, g.sum((1, 3, 4)),
                gD, torch.stack(linear[::-1]), gb, gnw, gnb)


def initial(reading, layers, H, N):
    """Δ (log), Re A (log of the negative), Im A and C of a reading, each [layer, ...]. Readings of the same seed have the
    same Δ and C."""
    init, _, seed = reading.partition("@")
    n, h = torch.arange(N // 2).double(), torch.arange(H).double()[:, None]
    values = []
    for layer in range(layers):
        gen = torch.Generator().manual_seed(1000 * int(seed or 0) + layer)
        step = torch.exp(torch.rand(H, generator=gen) * math.log(100) + math.log(0.001))
        C = torch.randn(H, N // 2, 2, generator=gen) * math.sqrt(0.5)
        imag = {"lin": math.pi * n, "inv": N / math.pi * (N / (2 * n + 1) - 1),
                "dfout-cont": 2 * math.pi * (n + h / H) / N / step.double()[:, None],
                "dfout-single-cont": 2 * math.pi * n / N / step.double()[:, None]}[init]
        values.append((step.log(), torch.full((H, N // 2), math.log(0.5)), imag.expand(H, N // 2).float(), C))
    return [torch.stack(v) for v in zip(*values)]


class Networks(torch.nn.Module):
    """Post-norm networks of example.py, one per reading. Parameters are stacked, [layer, network, ...]."""

    def __init__(self, readings, inputs, classes, length, layers=6, H=128, N=64):
        super().__init__()
        self.readings, self.length, self.low, self.functions = readings, length, False, Functions(False)
        bits = (length - 1).bit_length()
        self.n, self.block, self.states = 2 << bits, 1 << (bits + 1) // 2, []
        seeds = [int(r.partition("@")[2] or 0) for r in readings]
        poles = zip(*[initial(r, layers, H, N) for r in readings])
        self.log_dt, self.log_A_real, self.A_imag, self.C = [torch.nn.Parameter(torch.stack(p, 1)) for p in poles]

        def uniform(salt, fan, *shape):
            draw = lambda seed: torch.rand(*shape, generator=torch.Generator().manual_seed(7919 * seed + salt))
            return (torch.stack([draw(s) for s in seeds]) * 2 - 1) / math.sqrt(fan)

        def normal(layer):
            return torch.stack([torch.randn(H, generator=torch.Generator().manual_seed(31 * s + layer)) for s in seeds])

        def stacked(make):
            return torch.nn.Parameter(torch.stack([make(i) for i in range(layers)]))

        self.ew = torch.nn.Parameter(uniform(1, inputs, H, inputs))
        self.eb = torch.nn.Parameter(uniform(2, inputs, H))
        self.dw = torch.nn.Parameter(uniform(3, H, classes, H))
        self.db = torch.nn.Parameter(uniform(4, H, classes))
        self.D = stacked(normal)
        self.W = stacked(lambda i: uniform(10 + i, H, 2 * H, H))
        self.b = stacked(lambda i: uniform(40 + i, H, 2 * H))
        self.nw = stacked(lambda i: torch.ones(len(seeds), H))
        self.nb = stacked(lambda i: torch.zeros(len(seeds), H))

    def state(self, i):
        return self.states[i][..., :self.length, :]

    def allocate(self, pairs):
        G, H = self.ew.shape[:2]
        if not self.states or self.states[0].shape[1] != pairs or self.states[0].dtype != self.ew.dtype:
            self.states = [self.ew.new_zeros(G, pairs, H, self.n, 2) for _ in range(len(self.D) + 1)]
            self.scratch = torch.zeros_like(self.states[0])

    def forward(self, x, drop=0.0):
        """Logits [network, batch, class] of x [batch, position, input], with an even batch."""
        pairs = len(x) // 2
        self.allocate(pairs)
        x = x.view(2, pairs, self.length, -1).permute(3, 1, 2, 0).contiguous()
        keep = torch.ones(len(self.D), 2, len(self.ew), pairs, self.D.shape[-1], 1, 2, dtype=x.dtype, device=x.device)
        if drop:
            keep = (torch.rand_like(keep) >= drop).to(x.dtype) / (1 - drop)
        make = self.functions.kernels if self.training else kernels
        blocks = -(-self.length // self.block)
        K = make(self.log_dt, self.log_A_real, self.A_imag, self.C, blocks, self.block)[..., :self.length]
        K = torch.view_as_real(torch.fft.fft(K, n=self.n, norm="forward"))
        h = Layers.apply(self, x, keep, K, self.ew, self.eb, self.D, self.W, self.b, self.nw, self.nb)
        h = h.permute(0, 3, 1, 2).flatten(1, 2)
        return torch.einsum("gbh,gch->gbc", h, self.dw) + self.db[:, None]

    def groups(self, lr, weight_decay):
        """Groups for AdamW: poles and steps have a rate of at most 0.001; they, biases and norms have no weight decay."""
        slow, plain = ("log_dt", "log_A_real", "A_imag"), ("eb", "db", "b", "nw", "nb")
        pick = lambda test: [p for name, p in self.named_parameters() if test(name)]
        return [dict(params=pick(lambda n: n not in slow + plain), lr=lr, weight_decay=weight_decay),
                dict(params=pick(lambda n: n in plain), lr=lr, weight_decay=0.0),
                dict(params=pick(lambda n: n in slow), lr=min(lr, 0.001), weight_decay=0.0)]

    def export(self, g):
        """The state dict of network g for example.py."""
        d = {"encoder.weight": self.ew[g], "encoder.bias": self.eb[g],
             "decoder.weight": self.dw[g], "decoder.bias": self.db[g]}
        for i in range(len(self.D)):
            for name in ("log_dt", "log_A_real", "A_imag", "C"):
                d[f"s4_layers.{i}.kernel.{name}"] = getattr(self, name)[i, g]
            d[f"s4_layers.{i}.D"] = self.D[i, g]
            d[f"s4_layers.{i}.output_linear.0.weight"] = self.W[i, g][..., None]
            d[f"s4_layers.{i}.output_linear.0.bias"] = self.b[i, g]
            d[f"norms.{i}.weight"], d[f"norms.{i}.bias"] = self.nw[i, g], self.nb[i, g]
        return {k: v.detach().float().cpu().clone() for k, v in d.items()}
