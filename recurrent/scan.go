package recurrent

import (
	"fmt"

	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// scan is the recurrence of S5 and the LRU: h ← λ̄⊙h + B̄·x, y = κ·Re(C·h) + D⊙x (docs/maths.md
// §19.2). The state is h of the whole layer, [re, im][P].
type scan struct {
	weights  *ssm.ScanWeights
	in, out  *vek.Weights // [2P][H] and [H][2P], real and imaginary parts stacked
	zeros    []float32    // bias of both products
	products int          // scratch of a matrix product
}

func newScan(m *model.Model, layer int, stepScale float64) (*scan, error) {
	p := m.SSMParams(layer)
	d, w := ssm.NewScan(p.Config), ssm.NewScanWeights(p.Config)
	modes, h := p.Modes(), p.DModel
	p.DiscretizeScan(d, stepScale, 0, modes)
	if growing := p.CountGrowing(); growing > 0 {
		return nil, fmt.Errorf("recurrent: %d modes of layer %d grow without bound, but a stream has no end; train with ssm.clip_eigs = true, or use package convmode", growing, layer)
	}
	w.Fill(p, d, 0, modes)
	s := &scan{
		weights: w, in: vek.NewWeights(vek.MatrixOf(w.B, 2*modes, h), true), out: vek.NewWeights(vek.MatrixOf(w.C[0], h, 2*modes), true),
		zeros: make([]float32, max(h, 2*modes)),
	}
	for t := 1; t <= block; t++ {
		s.products = max(s.products, vek.GemmScratch(2*modes, t, h), vek.GemmScratch(h, t, 2*modes))
	}
	return s, nil
}

func (s *scan) stateLen() int { return len(s.weights.Lambda) }

// scratchLen is the scratch of a matrix product, and B̄·x twice: as computed, and in time order,
// where the scan replaces it by the states.
func (s *scan) scratchLen() int { return s.products + 2*block*s.stateLen() }

func (s *scan) run(y, x vek.Matrix, states [][]float32, t int, scratch []float32) {
	width, columns := s.stateLen(), len(states)*t
	gemm, scratch := scratch[:s.products], scratch[s.products:]
	product, rows := vek.MatrixOf(scratch, width, columns), vek.MatrixOf(scratch[block*width:], columns, width)
	s.in.GemmBias(product, x, s.zeros[:width], gemm)
	transpose(rows, product)
	for i, state := range states {
		of := vek.MatrixOf(rows.Data[i*t*width:], t, width)
		vek.Scan(of, state, s.weights.Lambda, 0, width/2, false)
	}
	transpose(product, rows)
	s.out.GemmBias(y, product, s.zeros[:y.Rows], gemm)
	for h, d := range s.weights.D {
		vek.Axpy(y.Row(h), d, x.Row(h))
	}
}

// transpose sets dst = xᵀ.
func transpose(dst, x vek.Matrix) {
	if x.Rows == 1 || x.Cols == 1 {
		copy(dst.Data, x.Data)
		return
	}
	for i := range dst.Rows {
		for j, at := 0, i; j < dst.Cols; j, at = j+1, at+x.Cols {
			dst.Data[i*dst.Cols+j] = x.Data[at]
		}
	}
}

// correct applies h ← h + δh at the end of a block, where δ = (λ̄/fl(λ̄))^block − 1 is what the
// rounding of λ̄ to float32 loses. Without it the phase of a slowly decaying pole drifts: the output
// of an LRU with |λ̄| ≥ 0.999 is wrong by 1.6e-4 after 16,384 samples.
func (s *scan) correct(state []float32) {
	p := len(state) / 2
	delta := s.weights.Conjugate
	vek.CMulConjAdd(state[:p], state[p:], delta[:p], delta[p:], state[:p], state[p:])
}
