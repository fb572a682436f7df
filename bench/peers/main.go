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
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/s4d-fast/s4d-fast/internal/bench"
	"github.com/s4d-fast/s4d-fast/level"
)

type options struct {
	Op      []string      `help:"Operations to measure: ${ops} (default: those that a peer has)." placeholder:"OP,..."`
	Level   []string      `help:"Levels to measure (default: all)." placeholder:"LEVEL,..."`
	Threads []int         `help:"Numbers of threads (default: 1, and for train also one per processor)." placeholder:"N,..."`
	Peers   []string      `help:"Peers: ${peers} (default: all)." placeholder:"PEER,..."`
	Time    time.Duration `help:"Time to spend on each row." default:"500ms"`
	JSON    bool          `name:"json" help:"Print JSON Lines, as s4d-fast bench does, instead of a table."`
}

func main() {
	var o options
	ctx := kong.Parse(&o, kong.Name("peers"), kong.Description("Compare s4d-fast with other libraries."),
		kong.Vars{"ops": strings.Join(bench.Names(), ", "), "peers": strings.Join(names(), ", ")})
	ctx.FatalIfErrorf(level.Set(""))
	ctx.FatalIfErrorf(o.run())
}

func (o options) run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	peers, err := start(ctx, o.Peers)
	if err != nil {
		return err
	}
	defer func() {
		for _, p := range peers {
			p.Stop()
		}
	}()
	if o.Op == nil {
		o.Op = []string{"cexp", "fft", "conv", "vandermonde", "cauchy", "gemm", "step", "train"}
	}
	bo := bench.Options{Ops: o.Op, Levels: o.Level, Workers: o.Threads, Time: o.Time, Peers: peers}
	if o.JSON {
		out := json.NewEncoder(os.Stdout)
		return bench.Run(ctx, bo, func(r bench.Row) error { return out.Encode(r) })
	}
	t := &table{w: os.Stdout}
	if err := bench.Run(ctx, bo, t.add); err != nil {
		return err
	}
	t.flush()
	return nil
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
