package main

import (
	"context"

	"golang.org/x/sys/cpu"

	"github.com/s4d-fast/s4d-fast/internal/bench"
)

// entry is a peer that can be started.
type entry struct {
	name  string
	start func() (bench.Peer, error)
}

// registry returns the peers. They are built in the folder dir and stop when ctx ends.
func registry(ctx context.Context, dir string) []entry {
	c := func(name, source string, env []string, flags ...string) entry {
		return entry{name, func() (bench.Peer, error) { return compiled(ctx, dir, name, source, flags, env) }}
	}
	all := []entry{
		c("fftw", "fftw", nil, "-lfftw3f", "-lm"),
		c("openblas", "openblas", []string{"OPENBLAS_NUM_THREADS=1"}, "-lopenblas"),
		c("openblas-avx2", "openblas", []string{"OPENBLAS_NUM_THREADS=1", "OPENBLAS_CORETYPE=Haswell"}, "-lopenblas"),
		c("sleef-avx2", "sleef", nil, "-DWIDTH=8", "-mavx2", "-mfma", "-lsleef"),
	}
	if cpu.X86.HasAVX512F {
		all = append(all, c("sleef-avx512", "sleef", nil, "-DWIDTH=16", "-lsleef"))
	}
	return append(all,
		entry{"torch", func() (bench.Peer, error) { return interpreted(ctx) }},
		entry{"gonum", func() (bench.Peer, error) { return &gonum{}, nil }},
	)
}

func names() []string {
	var all []string
	for _, e := range registry(context.Background(), "") {
		all = append(all, e.name)
	}
	return all
}
