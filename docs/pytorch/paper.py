"""Train S4D and S4D-DFouT at the sizes of "Uncovering the Spectral Bias in Diagonal State Space Models"
(arXiv 2508.20441) on one GPU. Networks that differ only in how they start are trained side by side.

    python3 paper.py train OUT scifar --images train.tar.xz --readings lin,dfout-cont
    python3 paper.py train OUT words --clips words.npz --readings lin@0,lin@1,dfout-cont@0,dfout-cont@1 --channels 32 \\
        --layers 3 --batch 16 --lr 0.005 --dropout 0 --epochs 40
    python3 paper.py held-out train.tar.xz DIR      # the validation images as DIR/test/CLASS/NAME.png
    python3 paper.py pack FOLDER words.npz          # clips in the layout of Speech Commands, as one file

A reading is the initialisation of S4D's A and Δ (lin, inv, dfout-cont, dfout-single-cont), with @SEED. The archive of images
has files CLASS/NAME. A tenth of them, chosen by a hash of these names, is for validation and trains nothing. OUT/log.jsonl has
losses and accuracies. OUT/scifar.tar has a network per reading for `s4d-fast convert`, OUT/scifar.state is for --resume.
"""
import argparse
import hashlib
import io
import json
import math
import os
import subprocess
import tarfile
import time
import wave
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import torch
from torch.nn import functional as F

from side_by_side import Functions, Networks


class Data:
    """Examples x [example, position, input] as integers, their classes y, and which are for validation. A network reads
    (x·scale - mean)/std."""

    def __init__(self, x, y, held, labels, scale, mean=None, std=None):
        self.x, self.y, self.held, self.labels, self.scale = x, y, held, labels, scale
        self.mean = mean or [float(x[~held].mean(dtype=np.float64) * scale)]
        self.std = std or [float(x[~held].std(dtype=np.float64) * scale)]


def held_out(name):
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") % 10 == 0


def pixels(image):
    from PIL import Image
    return np.asarray(Image.open(io.BytesIO(image)).convert("RGB"))


def read_archive(path):
    """Names CLASS/FILE and contents of the images in a tar file."""
    with tarfile.open(path) as t:
        files = [m for m in t if m.name.endswith((".jpg", ".png"))]
        return ["/".join(m.name.split("/")[-2:]) for m in files], [t.extractfile(m).read() for m in files]


def read_images(path, workers):
    names, files = read_archive(path)
    with ProcessPoolExecutor(workers) as pool:
        x = np.stack(list(pool.map(pixels, files, chunksize=500)))
    labels = sorted({n.split("/")[0] for n in names})
    y, held = np.array([labels.index(n.split("/")[0]) for n in names]), np.array([held_out(n) for n in names])
    return Data(x.reshape(len(x), -1, 3), y, held, labels, 1 / 255, [0.4914, 0.4822, 0.4465], [0.2023, 0.1994, 0.2010])


def write_held_out(archive, folder):
    from PIL import Image
    for name, file in zip(*read_archive(archive)):
        if held_out(name):
            path = f"{folder}/test/{os.path.splitext(name)[0]}.png"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            Image.fromarray(pixels(file)).save(path)


def read_clip(path):
    """16,000 samples at 16 kHz. Shorter clips end with zeros."""
    data = open(path, "rb").read()
    if path.endswith(".flac"):
        data = subprocess.run(["flac", "-dcs", path], stdout=subprocess.PIPE, check=True).stdout
    with wave.open(io.BytesIO(data)) as w:
        if (w.getframerate(), w.getsampwidth(), w.getnchannels()) != (16000, 2, 1):
            raise SystemExit(f"{path}: expected 16 bits, 16 kHz, one channel")
        samples = np.frombuffer(w.readframes(16000), "<i2")
    return np.pad(samples, (0, 16000 - len(samples)))


def pack(folder, path):
    words = sorted(w for w in os.listdir(folder) if w[0] not in "_." and os.path.isdir(f"{folder}/{w}"))
    names = [f"{w}/{f}" for w in words for f in sorted(os.listdir(f"{folder}/{w}"))]
    held = np.isin(names, open(f"{folder}/validation_list.txt").read().split())
    np.savez(path, words=words, names=names, held=held, clips=np.stack([read_clip(f"{folder}/{n}") for n in names]))


def read_clips(path):
    z = np.load(path)
    words = z["words"].tolist()
    y = np.array([words.index(n.split("/")[0]) for n in z["names"].tolist()])
    return Data(z["clips"][..., None], y, z["held"], words, 1 / 32768)


class Job:
    """One group of networks, its data, optimiser, log and files."""

    def __init__(self, args, data):
        self.args, self.data = args, data
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        torch.manual_seed(args.seed)
        self.net = Networks(args.readings.split(","), data.x.shape[2], len(data.labels), data.x.shape[1],
                            args.layers, args.channels, args.states)
        self.net.to(self.device).low = self.device == "cuda"
        groups = self.net.groups(args.lr, args.weight_decay)
        self.rates = [g["lr"] for g in groups]
        try:
            self.optimizer = torch.optim.AdamW(groups, fused=True)
        except (TypeError, RuntimeError):  # an older PyTorch, or no GPU
            self.optimizer = torch.optim.AdamW(groups)
        self.x, self.y, held = [torch.from_numpy(v).to(self.device) for v in (data.x, data.y, data.held)]
        self.mean, self.std = [torch.tensor(v, device=self.device) for v in (data.mean, data.std)]
        self.train, self.held = (~held).nonzero().flatten(), held.nonzero().flatten()
        self.epoch, self.progress, self.graph = 0, 0.0, None

    def say(self, **values):
        line = json.dumps(dict(time=round(time.time(), 1), job=self.args.job, **values))
        print(line, flush=True)
        with open(f"{self.args.out}/log.jsonl", "a") as f:
            f.write(line + "\n")

    def inputs(self, i):
        return (self.x[i].float() * self.data.scale - self.mean) / self.std

    def gradients(self, i):
        """The loss of examples i per network, with gradients of the sum."""
        self.optimizer.zero_grad(set_to_none=True)
        logits = self.net(self.inputs(i), self.args.dropout)
        loss = F.cross_entropy(logits.flatten(0, 1), self.y[i].repeat(len(logits)), reduction="none")
        loss = loss.view(len(logits), -1).mean(1)
        loss.sum().backward()
        return loss.detach()

    def step(self, i):
        if self.graph:
            self.chosen.copy_(i)
            self.graph.replay()
            loss = self.loss.clone()
        else:
            loss = self.gradients(i)
        self.optimizer.step()
        return loss

    def record(self):
        """Records the kernels that compute the gradients on a GPU as a graph: to launch them one by one takes longer
        than they do. If that fails, each step launches them."""
        if self.device == "cpu":
            return
        self.chosen = self.train[:self.args.batch].clone()
        try:
            stream = torch.cuda.Stream()  # as the documentation of CUDAGraph requires: first steps on another stream
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(3):
                    self.gradients(self.chosen)
            torch.cuda.current_stream().wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.loss = self.gradients(self.chosen)
            graph.replay()
            torch.cuda.synchronize()
            self.graph = graph
            self.say(recorded=self.loss.tolist())
        except Exception as error:
            self.say(not_recorded=repr(error)[:1000])

    def compile(self):
        """Compiles the networks' functions on a GPU, unless that fails or changes the gradients."""
        i = self.train[::len(self.train) // self.args.batch][:self.args.batch]

        def measure():
            torch.manual_seed(self.args.seed)
            return self.gradients(i).tolist(), [p.grad.clone() for p in self.net.parameters()]

        loss, gradients = measure()
        if self.device == "cpu" or self.args.eager:
            return
        for threads in (False, True):
            try:
                from torch import _dynamo
                torch.autograd.grad_mode.set_multithreading_enabled(threads)  # whether another thread differentiates
                _dynamo.config.suppress_errors = threads  # the second time, a function may stay as it is
                self.net.functions = Functions(True)
                compiled, others = measure()
                worst = torch.stack([(a - b).norm() / (b.norm() + 1e-12) for a, b in zip(others, gradients)]).max().item()
                self.say(loss=loss, compiled=compiled, difference=worst)
                if worst < 0.25:  # products of 16 bits may differ a little
                    return
            except Exception as error:
                self.say(not_compiled=repr(error)[:1000])
        self.net.functions = Functions(False)  # slower, but correct

    def seconds(self):
        """Measures the seconds of a step. The networks and the optimiser start anew."""
        values = {k: v.clone() for k, v in self.net.state_dict().items()}
        wait = torch.cuda.synchronize if self.device == "cuda" else lambda: None
        steps = 30 if self.device == "cuda" else 1
        for repetition in range(2):
            wait()
            start = time.time()
            for k in range(steps):
                self.step(self.train[k:k + self.args.batch])
            launched = time.time() - start
            wait()
            seconds = (time.time() - start) / steps
        self.say(ms_per_step=round(1000 * seconds, 2), ms_launching=round(1000 * launched / steps, 2), readings=self.net.readings)
        self.net.load_state_dict(values)
        self.optimizer.state.clear()
        return seconds

    def accuracy(self):
        """Per cent of the validation examples, per network."""
        self.net.eval()
        right = torch.zeros(len(self.net.readings), device=self.device)
        with torch.no_grad():
            for i in self.held.split(self.args.batch):
                padded = torch.cat([i, i[:1].expand(self.args.batch - len(i))])
                hit = self.net(self.inputs(padded)).argmax(-1) == self.y[padded]
                right += hit[:, :len(i)].sum(1)
        self.net.train()
        return [round(100 * v / len(self.held), 3) for v in right.tolist()]

    def save(self):
        """Replaces the job's files. A run that is killed leaves the last ones."""
        base = f"{self.args.out}/{self.args.job}"
        with tarfile.open(base + ".tmp", "w") as t:
            for g, reading in enumerate(self.net.readings):
                content = io.BytesIO()
                torch.save(self.net.export(g), content)
                entry = tarfile.TarInfo(f"{self.args.job}-{reading}.pth")
                entry.size = content.tell()
                content.seek(0)
                t.addfile(entry, content)
        os.replace(base + ".tmp", base + ".tar")
        state = dict(net=self.net.state_dict(), optimizer=self.optimizer.state_dict(), epoch=self.epoch)
        torch.save(state, base + ".tmp")
        os.replace(base + ".tmp", base + ".state")

    def resume(self, path):
        state = torch.load(path, map_location=self.device)
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.epoch, self.progress = state["epoch"], state["epoch"] / self.args.epochs

    def run(self, seconds):
        """Trains until args.epochs or args.until. The rates follow a cosine per epoch. Its length is decided anew from
        the time of the last epoch, so that a run that becomes slower still ends with a small rate."""
        args = self.args
        steps = len(self.train) // args.batch
        seconds = 1.02 * seconds * steps
        fits = lambda: int(max(0, min(args.epochs - self.epoch, (args.until - time.time() - 6) / (seconds + 0.1))))
        self.say(train=len(self.train), held=len(self.held), labels=self.data.labels, mean=self.data.mean,
                 std=self.data.std, steps=steps, epochs=fits())
        if fits() < args.least * args.epochs:
            return self.say(skipped=f"{fits()} epochs fit")
        while (left := fits()) > 0:
            start = time.time()
            for group, rate in zip(self.optimizer.param_groups, self.rates):
                group["lr"] = rate * 0.5 * (1 + math.cos(math.pi * self.progress))
            order = torch.randperm(len(self.train), generator=torch.Generator().manual_seed(1000 * args.seed + self.epoch))
            order = self.train[order[:steps * args.batch].to(self.device)]
            total = sum(self.step(i) for i in order.view(steps, -1))
            loss = [round(v / steps, 4) for v in total.tolist()]  # waits for the device
            seconds = time.time() - start
            self.epoch, self.progress = self.epoch + 1, self.progress + (1 - self.progress) / left
            report = self.epoch % args.every == 0
            self.say(epoch=self.epoch, left=left - 1, loss=loss, ms_per_step=round(1000 * seconds / steps, 3),
                     accuracy=self.accuracy() if report else None)
            if report:
                self.save()
        self.save()
        self.net.functions, self.net.low = Functions(False), False  # the accuracy of 32-bit products
        self.say(done=self.accuracy(), epochs=self.epoch, readings=self.net.readings)


def train(args):
    os.makedirs(args.out, exist_ok=True)
    path, limit = args.images or args.clips, time.time() + args.wait
    while not os.path.exists(path) and time.time() < limit:
        time.sleep(0.5)
    job = Job(args, read_images(path, args.workers) if args.images else read_clips(path))
    job.compile()
    job.record()
    seconds = job.seconds()
    if args.resume:
        job.resume(args.resume)
    if not args.warm:
        job.run(seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    t = commands.add_parser("train")
    t.add_argument("out")
    t.add_argument("job", help="name of the files")
    t.add_argument("--images", help="archive with files CLASS/NAME.jpg or .png")
    t.add_argument("--clips", help="file that pack wrote")
    t.add_argument("--readings", default="lin,dfout-cont")
    t.add_argument("--resume", help="continue from this file")
    t.add_argument("--warm", action="store_true", help="only compile, so that the next start is faster")
    t.add_argument("--eager", action="store_true", help="do not compile")
    for name, value, text in (
            ("channels", 128, "H"), ("layers", 6, "SSMs in a row"), ("states", 64, "N"),
            ("batch", 64, "an even number of examples"),
            ("epochs", 100, "passes over the training set"), ("lr", 0.01, "learning rate"), ("weight-decay", 0.05, "AdamW's"),
            ("dropout", 0.1, "share of channels"), ("seed", 0, "of the order of the examples and of dropout"),
            ("every", 10, "epochs between evaluations and files"), ("workers", 4, "processes that decode images"),
            ("wait", 0.0, "seconds to wait for the data"), ("until", math.inf, "end before this time, in seconds since 1970"),
            ("least", 0.0, "skip the job if less than this share of the epochs fits")):
        t.add_argument("--" + name, type=type(value), default=value, help=f"{text} (default: {value})")
    for name, first, second in (("held-out", "images", "folder"), ("pack", "folder", "clips")):
        c = commands.add_parser(name)
        c.add_argument(first)
        c.add_argument(second)
    args = parser.parse_args()
    if args.command == "train":
        train(args)
    elif args.command == "held-out":
        write_held_out(args.images, args.folder)
    else:
        pack(args.folder, args.clips)


if __name__ == "__main__":
    main()
