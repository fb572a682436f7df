package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/bench"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// fake makes this program a peer, as sources/peer.h describes, that supports only gemm.
const fake = "S4D_FAKE_PEER"

func TestMain(m *testing.M) {
	if os.Getenv(fake) == "" {
		os.Exit(m.Run())
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch f := strings.Fields(in.Text()); f[0] {
		case "gemm": // m of 2, n of 3, k of 4
			fmt.Println(strings.Join([]string{f[6], f[2], f[7]}, ""))
		case "fft":
			fmt.Println("what?")
		case "cexp":
			os.Exit(0)
		default:
			fmt.Println("0")
		}
	}
}

func TestProcess(t *testing.T) {
	p, err := launch(exec.CommandContext(t.Context(), os.Args[0]), "fake", []string{fake + "=1"})
	if errors.Is(err, syscall.ENOEXEC) {
		t.Skip("an emulated program cannot start itself")
	}
	must.Do(t, err)
	defer p.Stop()
	for _, test := range []struct {
		row  bench.Row
		want float64
		err  string
	}{
		{row: bench.Row{Op: "gemm", Workers: 1, Sizes: bench.Sizes{Rows: 2, N: 3, K: 4}}, want: 234},
		{row: bench.Row{Op: "conv", Workers: 1}},
		{row: bench.Row{Op: "fft", Workers: 1}, err: `reply "what?"`},
		{row: bench.Row{Op: "cexp", Workers: 1}, err: "the process ended"},
	} {
		got, err := p.Measure(test.row, time.Millisecond)
		if test.err != "" {
			must.Fail(t, err, test.err)
			continue
		}
		if err != nil || got != test.want {
			t.Errorf("%s: %v, %v: expected %v", test.row.Op, got, err, test.want)
		}
	}
}

// TestPeers runs each operation, at a small size, on every installed peer: exactly the expected
// peers support it.
func TestPeers(t *testing.T) {
	has := map[string]string{
		"fftw": "fft conv", "openblas": "gemm", "openblas-avx2": "gemm", "sleef-avx2": "cexp", "sleef-avx512": "cexp",
		"torch": "conv vandermonde cauchy step train train-dss train-s4", "gonum": "fft gemm",
	}
	rows := []bench.Row{
		{Op: "peak"}, {Op: "copy", Sizes: bench.Sizes{N: 16}},
		{Op: "cexp", Sizes: bench.Sizes{N: 64}}, {Op: "fft", Sizes: bench.Sizes{N: 64}}, {Op: "conv", Sizes: bench.Sizes{L: 64}},
		{Op: "vandermonde", Sizes: bench.Sizes{H: 2, M: 2, L: 16}}, {Op: "gemm", Sizes: bench.Sizes{Rows: 8, N: 8, K: 8}},
		{Op: "cauchy", Sizes: bench.Sizes{H: 2, M: 2, L: 16}}, {Op: "scan", Sizes: bench.Sizes{M: 2, L: 16}},
		{Op: "step", Sizes: bench.Sizes{H: 2, M: 2, L: 16}}, {Op: "train", Sizes: bench.Sizes{H: 4, M: 2, L: 16, B: 2, Layers: 1}},
		{Op: "train-dss", Sizes: bench.Sizes{H: 4, M: 2, L: 16, B: 2, Layers: 1}},
		{Op: "train-s4", Sizes: bench.Sizes{H: 4, M: 2, L: 16, B: 2, Layers: 1}},
	}
	for _, e := range registry(t.Context(), t.TempDir()) {
		t.Run(e.name, func(t *testing.T) {
			p, err := e.start()
			if err != nil {
				t.Skip(err)
			}
			defer p.Stop()
			for _, row := range rows {
				row.Workers = 1
				ns := must.Get(p.Measure(row, time.Millisecond))(t)
				must.Equal(t, ns > 0, contains(has[e.name], row.Op), "%s: supported, in %v ns", row.Op, ns)
			}
		})
	}
}

func contains(list, word string) bool {
	return strings.Contains(" "+list+" ", " "+word+" ")
}

func TestStart(t *testing.T) {
	must.Reject(start(context.Background(), []string{"mkl"}))(t, `peer "mkl": expected one of fftw`)
	peers, err := start(t.Context(), []string{"gonum"})
	if err != nil || len(peers) != 1 || peers[0].Name() != "gonum" {
		t.Errorf("gonum: %v, %v", peers, err)
	}
}

func TestTable(t *testing.T) {
	var out strings.Builder
	tab := &table{w: &out}
	for _, rows := range [][]bench.Row{{
		{Op: "fft", Sizes: bench.Sizes{N: 512}, Workers: 1, Level: "avx2", NS: 500},
		{Op: "fft", Sizes: bench.Sizes{N: 512}, Workers: 1, Level: "avx512", NS: 250},
		{Op: "fft", Sizes: bench.Sizes{N: 512}, Workers: 1, Peer: "fftw", NS: 1000},
		{Op: "fft", Sizes: bench.Sizes{N: 512}, Workers: 1, Peer: "gonum", NS: 12345},
	}, {
		{Op: "copy", Sizes: bench.Sizes{N: 64}, Workers: 1, Level: "avx2", NS: 0.5},
	}, {
		{Op: "cexp", Sizes: bench.Sizes{N: 64}, Workers: 1, Level: "avx2", NS: 0.5},
		{Op: "cexp", Sizes: bench.Sizes{N: 64}, Workers: 1, Level: "avx512", NS: 0.25},
		{Op: "cexp", Sizes: bench.Sizes{N: 64}, Workers: 1, Peer: "sleef", NS: 2},
	}} {
		must.Do(t, tab.add(rows))
	}
	want := `| op | sizes | threads | peer | time | avx2 | avx512 |
| --- | --- | ---: | --- | ---: | ---: | ---: |
| fft | n=512 | 1 | fftw | 1.00 µs | 500 ns (2.00×) | 250 ns (4.00×) |
| fft | n=512 | 1 | gonum | 12.3 µs | 500 ns (24.69×) | 250 ns (49.38×) |
| cexp | n=64 | 1 | sleef | 2.00 ns | 0.50 ns (4.00×) | 0.25 ns (8.00×) |
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
