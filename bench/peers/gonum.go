package main

import (
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/s4d-fast/s4d-fast/internal/bench"
)

// gonum's transforms are in double precision, its matrix products in single precision.
type gonum struct {
	last bench.Row
	call func() // nil: the operation is not supported
}

func (g *gonum) Name() string { return "gonum" }
func (g *gonum) Stop()        {}

// Measure implements bench.Peer.
func (g *gonum) Measure(r bench.Row, d time.Duration) (float64, error) {
	if r != g.last {
		g.last, g.call = r, prepare(r)
	}
	if g.call == nil {
		return 0, nil
	}
	calls, begin := 0, time.Now()
	for calls == 0 || time.Since(begin) < d {
		g.call()
		calls++
	}
	return float64(time.Since(begin)) / float64(calls), nil
}

func prepare(r bench.Row) func() {
	switch {
	case r.Workers != 1: // gonum chooses the number of threads itself
		return nil
	case r.Op == "fft":
		plan := fourier.NewCmplxFFT(r.N)
		x, y := make([]complex128, r.N), make([]complex128, r.N)
		for i := range x {
			x[i] = complex(float64(i%7-3), float64(i%5-2))
		}
		return func() { plan.Coefficients(y, x) }
	case r.Op == "gemm":
		matrix := func(rows, cols int) blas32.General {
			m := blas32.General{Rows: rows, Cols: cols, Stride: cols, Data: make([]float32, rows*cols)}
			for i := range m.Data {
				m.Data[i] = float32(i%7 - 3)
			}
			return m
		}
		a, b, c := matrix(r.Rows, r.K), matrix(r.K, r.N), matrix(r.Rows, r.N)
		return func() { blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, a, b, 0, c) }
	}
	return nil
}
