package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/testfiles"
)

// Networks that docs/pytorch/paper.py trains side by side can be converted, and have the accuracy
// that PyTorch reports. Their gradients are those of the network in s4d_dfout.py.
func TestTrainSideBySide(t *testing.T) {
	if testing.Short() {
		t.Skip("starts PyTorch")
	}
	const python = "/usr/bin/python3"
	if exec.Command(python, "-c", `from importlib.metadata import version; version("torch")`).Run() != nil {
		t.Skip("no Python with PyTorch is installed (Debian's python3-torch)")
	}
	dir := t.TempDir()
	run := func(script string, commands ...[]string) { // in one process, because starting PyTorch takes a second
		t.Helper()
		for _, args := range commands {
			script += fmt.Sprintf("\nsys.argv[1:] = %q.split()\nrunpy.run_path('../../docs/pytorch/paper.py', run_name='__main__')\n", strings.Join(args, " "))
		}
		cmd := exec.Command(python, "-c", "import runpy, sys\n"+script)
		cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "PYTHONPATH=../../docs/pytorch", "PYTHONDONTWRITEBYTECODE=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}

	clips, packed := filepath.Join(dir, "clips"), filepath.Join(dir, "clips.npz")
	var held []string
	for i := range 24 {
		name := fmt.Sprintf("%s/%02d.wav", []string{"long", "short"}[i%2], i)
		testfiles.Clip(t, filepath.Join(clips, name), 16000, testfiles.Sounds(1-0.9*float64(i%2), 16000, uint64(i)))
		if i >= 12 {
			held = append(held, name)
		}
	}
	testfiles.Write(t, filepath.Join(clips, "validation_list.txt"), strings.Join(held, "\n"))
	train := []string{"train", dir, "words", "--clips", packed, "--readings", "lin,dfout-cont@1", "--channels", "4",
		"--layers", "2", "--states", "8", "--batch", "4", "--every", "1", "--epochs"}
	run(gradientScript, []string{"pack", clips, packed}, append(train, "1"))
	run("", append(train, "2", "--resume", filepath.Join(dir, "words.state")))
	var first, last struct { // lines of the second run
		Mean, Std, Done []float64
		Epochs          int
	}
	lines := bytes.Split(bytes.TrimSpace(read(t, filepath.Join(dir, "log.jsonl"))), []byte("\n"))
	decode(t, string(lines[1]), &first)
	decode(t, string(lines[len(lines)-1]), &last)
	equal(t, "epochs", last.Epochs, 2)
	if out, err := exec.Command("tar", "xf", filepath.Join(dir, "words.tar"), "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	for i, reading := range []string{"lin", "dfout-cont@1"} {
		model := filepath.Join(dir, reading+".safetensors")
		ok(t, "convert", filepath.Join(dir, "words-"+reading+".pth"), model, "--task", "speech-commands", "--rate", "16000", "--labels", "long,short",
			fmt.Sprint("--mean=", first.Mean[0]), fmt.Sprint("--std=", first.Std[0]))
		var result struct{ Accuracy float64 }
		decode(t, ok(t, "eval", model, "--data", clips, "--json"), &result)
		equal(t, "accuracy of "+reading, fmt.Sprintf("%.3f", 100*result.Accuracy), fmt.Sprintf("%.3f", last.Done[i]))
	}
}

// gradientScript compares the gradients of two networks in double precision.
const gradientScript = `
import torch, s4d_dfout
from side_by_side import Networks

nets = Networks(["lin", "dfout-cont@1"], inputs=3, classes=5, length=20, layers=2, H=4, N=8).double()
x = torch.randn(6, 20, 3, dtype=torch.float64)
outputs = nets(x)
outputs.square().sum().backward()
weights = [nets.export(g) for g in range(2)]
for p in nets.parameters():
    p.data = p.grad
for g in range(2):
    net = s4d_dfout.Network(3, 5, channels=4, layers=2, states=8).double()
    net.load_state_dict(weights[g])
    y = net(x.mT)
    torch.testing.assert_close(y, outputs[g], rtol=1e-5, atol=1e-6)
    y.square().sum().backward()
    for name, gradient in nets.export(g).items():
        torch.testing.assert_close(net.get_parameter(name).grad.float(), gradient, rtol=1e-4, atol=1e-5)
`
