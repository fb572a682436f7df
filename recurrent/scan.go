package recurrent

import (
	"github.com/s4d-fast/s4d-fast/internal/vek"
	"github.com/s4d-fast/s4d-fast/model"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// scan is the recurrence of S5 and the LRU: h ← λ̄⊙h + B̄·x, y = κ·Re(C·h) + D⊙x (docs/maths.md
// §19.2). The state is h of the whole layer, [re, im][P].
type scan struct {
	correction
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
	if err := checkGrowth(p.CountGrowing(), layer, "train it with package train, which bounds the poles, or "); err != nil {
		return nil, err
	}
	w.Fill(p, d, 0, modes)
	s := &scan{
		correction: newCorrection(modes), weights: w, in: vek.NewWeights(vek.MatrixOf(w.B, 2*modes, h), vek.ForProducts|vek.ForNarrowProducts), out: vek.NewWeights(vek.MatrixOf(w.C[0], h, 2*modes), vek.ForProducts|vek.ForNarrowProducts),
		zeros: make([]float32, max(h, 2*modes)),
	}
	for i := range modes {
		s.setError(i, complex(float64(w.Conjugate[i]), -float64(w.Conjugate[modes+i])))
	}
	for t := 1; t <= blockSamples; t++ {
		s.products = max(s.products, vek.GemmScratch(2*modes, t, h), vek.GemmScratch(h, t, 2*modes))
	}
	return s, nil
}

// scratchLen is the scratch of a matrix product, and B̄·x twice: as computed, and in time order,
// where the scan replaces it by the states.
func (s *scan) scratchLen() int { return s.products + 2*blockSamples*s.stateLen() }

func (s *scan) run(y, x vek.Matrix, states [][]float32, _ []int64, t int, scratch []float32) {
	width, columns := s.stateLen(), len(states)*t
	gemm, scratch := scratch[:s.products], scratch[s.products:]
	product, rows := vek.MatrixOf(scratch, width, columns), vek.MatrixOf(scratch[blockSamples*width:], columns, width)
	s.in.GemmBias(product, x, s.zeros[:width], gemm)
	vek.Transpose(rows, product)
	for i, state := range states {
		of := vek.MatrixOf(rows.Data[i*t*width:], t, width)
		vek.Scan(of, state, s.weights.Lambda, 0, width/2, vek.FirstToLast)
	}
	vek.Transpose(product, rows)
	s.out.GemmBias(y, product, s.zeros[:y.Rows], gemm)
	for h, d := range s.weights.D {
		vek.Axpy(y.Row(h), d, x.Row(h))
	}
}
