package convmode
import ("testing";"math";"github.com/s4d-fast/s4d-fast/model";"github.com/s4d-fast/s4d-fast/ssm")
func TestFD(t *testing.T) {
	for _, w := range networks {
		t.Run(w.name, func(t *testing.T) {
			c := w.config(); m := newModel(t, c)
			for _, l := range m.Weights.Layers { for i := range l.B { l.B[i] += 0.1*float32(i%3) } }
			n := newNet(t, m, Options{MaxBatch: w.size, MaxLen: w.length, Workers: 2, Training: true, Rate: w.rate})
			b := newBatch(c, 1, w.size, w.length, w.lengths...)
			d := noise(2, logitCount(c, b))
			loss := func() float64 { s := 0.0; for i, v := range n.ForwardTrain(b, Step{1, 1}) { s += float64(v) * float64(d[i]) }; return s }
			loss(); g := model.NewWeights(c); n.Backward(d, g)
			for i, ten := range m.Weights.Tensors() {
				if ten.Kind == model.KindBuffer { continue }
				r := noise(uint64(50+i), len(ten.Data)); old := append([]float32(nil), ten.Data...)
				want, norm := 0.0, 0.0
				for j, v := range g.Tensors()[i].Data { want += float64(v) * float64(r[j]); norm += math.Abs(float64(v)*float64(r[j])) }
				const e = 1e-3
				for j := range r { ten.Data[j] = old[j] + e*r[j] }
				hi := loss()
				for j := range r { ten.Data[j] = old[j] - e*r[j] }
				lo := loss(); copy(ten.Data, old)
				if fd := (hi-lo)/(2*e); math.Abs(fd-want) > 2e-2*norm+2e-2 { t.Errorf("%s: fd %v backward %v (%v)", ten.Name, fd, want, norm) }
			}
		})
	}
	_ = ssm.Lin
}
