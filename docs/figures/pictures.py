#!/usr/bin/env python3
"""Draws the SVG pictures of the README and docs, in the root of the repository:

    python3 docs/figures/pictures.py               speed.svg from docs/benchmarks.md, and how.svg
    python3 docs/figures/pictures.py terminal DATA terminal.svg: trains on clips and streams others

DATA contains wake-words and coffee-orders (s4d-fast data fetch), and ./s4d-fast is the program.
"""
import cmath
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

HERE = Path(__file__).parent
BLUE, ORANGE, GREEN, GREY, INK = "#1f6fb4", "#d1711a", "#2a8f4f", "#7a828c", "#1d2329"


def text(x, y, s, size=14, color=INK, anchor="start", more=""):
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{color}" text-anchor="{anchor}" {more}>{escape(s)}</text>'


def rect(x, y, w, h, fill, more=""):
    return f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" fill="{fill}" {more}/>'


def path(points, color, width=2.0):
    return f'<path d="M{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" fill="none" stroke="{color}" stroke-width="{width}"/>'


def save(name, width, height, parts, title, font="Helvetica,Arial,sans-serif", background="#fff"):
    (HERE / name).write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="{font}" role="img"><title>{escape(title)}</title>\n'
        + "\n".join([rect(0, 0, width, height, background, 'rx="6"'), *parts]) + "\n</svg>\n")


def speed():
    """Bars of the speed-ups in the table of docs/benchmarks.md, on a logarithmic axis."""
    page = (HERE.parent / "benchmarks.md").read_text()
    rows = re.findall(r"^\| ([^|]+) \| (\w+) \| [^|]+ \| [^|]+ \| ([\d.]+)× \|$", page, re.M)
    parts, left, scale, top = [], 430, 145, 34
    bottom = top + 30 * len(rows)
    for power in range(3):
        x = left + power * scale
        parts += [path([(x, top - 4), (x, bottom)], "#d5dae0", 1), text(x, top - 10, f"{10**power}×", 12, GREY, "middle")]
    for i, (name, peer, times) in enumerate(rows):
        y, w = top + 30 * i, scale * math.log10(float(times))
        parts += [rect(left, y + 4, w, 20, BLUE if peer == "PyTorch" else GREEN), text(left - 8, y + 19, name, 13, anchor="end"),
                  text(left + w + 6, y + 19, f"{times}× {peer}", 13)]
    parts.append(text(12, bottom + 24, "Two cores of an Intel Xeon with AVX-512. Commands, sizes and accuracy: docs/benchmarks.md", 12, GREY))
    save("speed.svg", 920, bottom + 36, parts, "Speed-up of s4d-fast over other libraries")


def box(x, title, below):
    return [rect(x, 30, 132, 74, "#eef3f8", f'rx="8" stroke="{BLUE}"'), text(x + 66, 62, title, 15, INK, "middle", 'font-weight="bold"'),
            *(text(x + 66, 80 + 14 * i, line, 11, GREY, "middle") for i, line in enumerate(below))]


def how():
    """The path from audio to events; a layer's poles as kernel and as recurrence."""
    parts = []
    steps = [("audio", ["16,000 samples/s"]), ("filter bank", ["40 bands, 50 times/s"]), ("layers", ["SSMs and mixing"]),
             ("posteriors", ["one per label"]), ("events", ["label, onset, end"])]
    for i, (title, below) in enumerate(steps):
        parts += box(20 + 180 * i, title, below)
        if i:
            parts.append(text(20 + 180 * i - 24, 73, "→", 22, BLUE, "middle"))
    parts.append(text(20, 150, "The same poles of one layer, in two modes:", 15, INK, more='font-weight="bold"'))
    poles = [cmath.rect(r, a) for r, a in ((0.97, 0.15), (0.95, 0.45), (0.92, 0.9), (0.9, 1.5))]
    parts.append(f'<circle cx="110" cy="260" r="75" fill="none" stroke="{GREY}"/>')
    for p in poles:
        for z in (p, p.conjugate()):
            parts.append(f'<circle cx="{110 + 75 * z.real:.1f}" cy="{260 - 75 * z.imag:.1f}" r="4" fill="{ORANGE}"/>')
    parts.append(text(110, 362, "poles λ in the unit circle", 13, INK, "middle"))
    kernel = [sum((p**n).real for p in poles) for n in range(110)]
    parts += [path([(250, 260), (580, 260)], "#d5dae0", 1), path([(250 + 3 * n, 260 - 17 * k) for n, k in enumerate(kernel)], BLUE),
              text(415, 342, "convolution mode, for training:", 13, INK, "middle"), text(415, 362, "y = K ∗ x, with K[n] = 2·Re Σ C B̄ λⁿ", 13, BLUE, "middle"),
              rect(670, 225, 180, 70, "#fdf3ea", f'rx="8" stroke="{ORANGE}"'), text(760, 266, "h ← λ h + B̄ x", 17, INK, "middle"),
              text(640, 266, "x →", 15, INK, "middle"), text(880, 266, "→ y", 15, INK, "middle"),
              text(760, 342, "recurrent mode, for streams:", 13, INK, "middle"), text(760, 362, "y = 2·Re Σ C h, sample by sample", 13, ORANGE, "middle")]
    save("how.svg", 920, 380, parts, "How a detector works, and the two modes of a layer")


def terminal(data):
    """Trains a detector of two words on half of their clips, and streams clips of the other half."""
    program = Path("s4d-fast").absolute()
    with tempfile.TemporaryDirectory() as folder:
        work, clips = Path(folder), []
        for word in ("computer", "jarvis"):
            files = sorted((data / "wake-words" / word).glob("*.flac"))
            (work / "sounds" / word).mkdir(parents=True)
            for f in files[: len(files) // 2]:
                shutil.copy(f, work / "sounds" / word)
            clips += files[-2:]
        (work / "speech").symlink_to(data / "coffee-orders")
        speech = sorted((data / "coffee-orders").glob("*.ogg"))[0]
        subprocess.run(["sox", *(clips[0], clips[2], speech, clips[3], clips[1]), work / "unheard.wav"], check=True)
        lines = []

        def run(command, keep):
            lines.append("$ s4d-fast " + command)
            got = subprocess.run([program, *command.split()], cwd=work, check=True, capture_output=True, text=True)
            lines.extend(line for line in (got.stderr + got.stdout).splitlines() if re.search(keep, line))

        run("train audio --data sounds --other speech --from commands --out runs/words", r"^(training:|validation:|Best|Model)")
        lines.append("")
        run("stream runs/words/best.safetensors unheard.wav", r'"event"|"end"')
    lines = [re.sub(r",\"block.*", "}", line.replace(f"{work}/", "")) for line in lines]
    parts = [f'<circle cx="{20 + 18 * i}" cy="18" r="6" fill="{c}"/>' for i, c in enumerate(("#ff5f57", "#febc2e", "#28c840"))]
    for i, line in enumerate(lines):
        color = "#7ee787" if line.startswith("$") else "#ffa657" if '"event"' in line else "#d5dde6"
        parts.append(text(16, 52 + 21 * i, line[:125], 13, color, more='xml:space="preserve"'))
    save("terminal.svg", 1000, 66 + 21 * len(lines), parts, "Train a detector of two words, and run it", "Menlo,Consolas,'DejaVu Sans Mono',monospace", "#161b22")


if sys.argv[1:2] == ["terminal"]:
    terminal(Path(sys.argv[2]).absolute())
else:
    speed()
    how()
