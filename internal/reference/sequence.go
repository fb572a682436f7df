package reference

// Sequence is a layer of another kind in the place of S4D, or its gradients: a *DSS, *S4, *S5 or
// *LRU.
type Sequence interface {
	// apply returns y for u of a length, both [B][H][L].
	apply(u []float64, length int) []float64
	// applyBack returns the gradients of the parameters and of u from ∂loss/∂y.
	applyBack(u, dy []float64, length int) (g Sequence, du []float64)
}

func (s *DSS) apply(u []float64, length int) []float64 { return s.Forward(u, length).Y }

func (s *DSS) applyBack(u, dy []float64, length int) (Sequence, []float64) {
	return s.Backward(s.Forward(u, length), dy)
}

func (s *S4) apply(u []float64, length int) []float64 { return s.Forward(u, length).Y }

func (s *S4) applyBack(u, dy []float64, length int) (Sequence, []float64) {
	return s.Backward(s.Forward(u, length), dy)
}

func (l *S5) apply(u []float64, length int) []float64 { return l.Forward(u, length) }

func (l *S5) applyBack(u, dy []float64, length int) (Sequence, []float64) {
	return l.Backward(u, dy, length)
}

func (l *LRU) apply(u []float64, length int) []float64 { return l.Forward(u, length) }

func (l *LRU) applyBack(u, dy []float64, length int) (Sequence, []float64) {
	return l.Backward(u, dy, length)
}
