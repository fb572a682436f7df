// Command peers compares s4d-fast with other libraries, which it measures alternately, and prints
// one table of speed-ups.
//
//	go run ./bench/peers
//
// The folder sources has programs in C that call FFTW, OpenBLAS and SLEEF, and one in Python that
// calls PyTorch. A C compiler builds the former in a temporary folder. On Debian, install the
// libraries with
//
//	apt-get install gcc libfftw3-dev libopenblas-dev libsleef-dev python3-torch
//
// A peer that is not installed is omitted, and the command reports it. gonum is linked into this
// program.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/bench"
)

func main() {
	o := bench.Options{Ops: []string{"cexp", "fft", "conv", "vandermonde", "cauchy", "gemm", "step", "train"}}
	var wanted []string
	list := func(name, usage string, words *[]string) {
		flag.Func(name, usage, func(text string) error { *words = strings.Split(text, ","); return nil })
	}
	list("op", "`operations` to measure: "+strings.Join(bench.Names(), ", ")+" (default: those that a peer has)", &o.Ops)
	list("level", "`levels` to measure (default: all)", &o.Levels)
	list("peers", "`peers`: "+strings.Join(names(), ", ")+" (default: all)", &wanted)
	flag.Var((*bench.Numbers)(&o.Workers), "threads", "`numbers` of threads (default: 1, and for train also one per processor)")
	flag.DurationVar(&o.Time, "time", 500*time.Millisecond, "`duration` of the measurement of a row")
	bench.Main("peers", func(ctx context.Context) error {
		peers, err := start(ctx, wanted)
		if err != nil {
			return err
		}
		defer func() {
			for _, p := range peers {
				p.Stop()
			}
		}()
		o.Peers = peers
		return bench.Run(ctx, o, (&table{w: os.Stdout}).add)
	})
}

// start starts the named peers, or all. It reports on standard error which ones it cannot start.
func start(ctx context.Context, wanted []string) ([]bench.Peer, error) {
	for _, name := range wanted {
		if !slices.Contains(names(), name) {
			return nil, fmt.Errorf("peer %q: expected one of %s", name, strings.Join(names(), ", "))
		}
	}
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var all []bench.Peer
	for _, p := range registry(ctx, dir) {
		if wanted != nil && !slices.Contains(wanted, p.name) {
			continue
		}
		started, err := p.start()
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s is omitted: %v\n", p.name, err)
			continue
		}
		all = append(all, started)
	}
	return all, nil
}
