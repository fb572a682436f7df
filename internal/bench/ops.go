package bench

import (
	"math"

	"github.com/s4d-fast/s4d-fast/ssm"
)

// Op is an operation to measure.
type Op struct {
	Name  string
	Unit  string // what NS is the time of
	cases []workload
}

// Ops lists the operations in the order in which they run.
func Ops() []Op { return ops }

var ops = []Op{
	{"peak", "2^14 rounds of 12 vector FMAs on registers", []workload{fma}},
	{"copy", "element of 4 bytes", []workload{copying(1 << 12), copying(1 << 16), copying(1 << 22)}},
	{"cexp", "element", []workload{cexpOf(4096)}},
	{"fft", "transform", each(fftOf,
		128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768,
		3<<8, 3<<9, 3<<10, 3<<11, 3<<12, 3<<13,
		5<<7, 5<<8, 5<<9, 5<<10, 5<<11, 5<<12)},
	{"conv", "output row", each(convOf, 256, 512, 1024, 2048, 4096, 8192, 16384)},
	{"vandermonde", "set of kernels, one per channel (H)", []workload{vandermondeOf(128, 32, 1024)}},
	{"cauchy", "the same with a layer of S4-LegS", []workload{cauchyOf(128, 32, 1024)}},
	{"scan", "sample of all M modes of S5 or the LRU, in blocks of L samples", []workload{
		scanOf(standard(ssm.LayerS5).modes, 128), scanOf(standard(ssm.LayerLRU).modes, 128),
	}},
	{"gemm", "matrix product", []workload{gemmOf(256, 1024, 128), gemmOf(512, 1024, 256)}},
	{"step", "sample of all H channels, in blocks of L samples", []workload{stepOf(standard(ssm.LayerS4D))}},
	{"step-s4", "the same with a layer of S4-LegS", []workload{stepOf(standard(ssm.LayerS4))}},
	{"step-s5", "the same with a layer of S5", []workload{stepOf(standard(ssm.LayerS5))}},
	{"step-lru", "the same with a layer of the LRU", []workload{stepOf(standard(ssm.LayerLRU))}},
	{"train", "training step", []workload{trainOf(standard(ssm.LayerS4D))}},
	{"train-dss", "training step with layers of DSS", []workload{trainOf(standard(ssm.LayerDSS))}},
	{"train-s4", "training step with layers of S4-LegS", []workload{trainOf(standard(ssm.LayerS4))}},
	{"train-s5", "training step with layers of S5", []workload{trainOf(standard(ssm.LayerS5))}},
	{"train-lru", "training step with layers of the LRU", []workload{trainOf(standard(ssm.LayerLRU))}},
}

// standard is the network of the training steps, whose layers are also streamed alone. S5 and the
// LRU have as many modes as published networks with this number of channels.
func standard(layer ssm.Layer) shape {
	s := shape{layer: layer, h: 128, modes: 32, length: 1024, batch: 16, layers: 6}
	switch layer {
	case ssm.LayerS5:
		s.modes = 128
	case ssm.LayerLRU:
		s.modes = 256
	}
	return s
}

// Names lists the operations' names.
func Names() []string {
	var all []string
	for _, op := range ops {
		all = append(all, op.Name)
	}
	return all
}

func each(f func(n int) workload, sizes ...int) []workload {
	var all []workload
	for _, n := range sizes {
		all = append(all, f(n))
	}
	return all
}

// transformFlops is the conventional number of operations of a complex transform of n points, for
// any algorithm.
func transformFlops(n int) float64 { return 5 * float64(n) * math.Log2(float64(n)) }
