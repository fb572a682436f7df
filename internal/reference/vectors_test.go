package reference

import (
	"math"
	"testing"
)

// The test vectors of docs/maths.md §2.5, to 1e-12.
func TestVectors(t *testing.T) {
	c := []complex128{1, 0.5i, complex(-0.25, 0.25), complex(0.1, -0.3)}
	s4d := func() (*Network, *Layer) {
		n := &Network{Config: Config{H: 1, M: 4, Copies: 1, StepScale: 1}}
		l := &Layer{LogStep: []float64{math.Log(0.05)}, B: []complex128{1, 1, 1, 1}, C: c, D: []float64{0}}
		for i := range 4 {
			l.LogDecay = append(l.LogDecay, math.Log(0.5))
			l.Freq = append(l.Freq, math.Pi*float64(i))
		}
		return n, l
	}
	n, l := s4d()
	compare(t, "ZOH", n.kernels(l, 8)[0], 0.083128438329907, 0.078692693866859, 0.072280748429062, 0.063484763856252, 0.052959786328227, 0.042207242605974, 0.033153791917316, 0.027633822106467)
	n.Bilinear = true
	compare(t, "bilinear", n.kernels(l, 8)[0], 0.083016154194732, 0.078423485826196, 0.07211553822732, 0.063659405528614, 0.053586565404458, 0.043218129235731, 0.0343030950726, 0.028560378934558)
	n.Bilinear, n.StepScale = false, 2
	compare(t, "step scale 2", n.kernels(l, 8)[0], 0.161821132196766, 0.135765512285314, 0.095167028934201, 0.060787614023783, 0.058182542070088, 0.091596083361946, 0.137063388875651, 0.160284157270502)

	n, l = s4d()
	g := &Layer{LogStep: zeros(1), LogDecay: zeros(4), Freq: zeros(4), B: make([]complex128, 4), C: make([]complex128, 4)}
	n.kernelBack(g, l, 0, []float64{1. / 8, 2. / 8, 3. / 8, 4. / 8, 5. / 8, 6. / 8, 7. / 8, 1})
	loss := 0.0
	for i, k := range n.kernels(l, 8)[0] {
		loss += k * float64(i+1) / 8
	}
	compare(t, "loss", []float64{loss}, 0.21031057929071834)
	compare(t, "d/d log dt", g.LogStep, 0.043787855959293)
	compare(t, "d/d log_A_real", g.LogDecay, -0.050149460674611, 0.019382232922698, 0.00737884518711, 0.0001484236344)
	compare(t, "d/d A_imag", g.Freq, 0, -0.029243392757671, 0.027456899761868, -0.023759575731551)
	compare(t, "d/dC", parts(g.C), 0.395968058024283, 0, 0.262659775181438, -0.269634952825833, -0.014249889016993, -0.321894945558299, -0.193505328235829, -0.151405982127537)
	compare(t, "d/dB", parts(g.B), 0.395968058024283, 0, -0.134817476412917, -0.131329887590719, -0.076911264135326, 0.084036208643823, 0.026071261814678, -0.073192196683502)

	n = &Network{Config: Config{H: 2, M: 4, Copies: 2, StepScale: 1, Discrete: true}}
	l = &Layer{LogStep: []float64{math.Log(0.1), math.Log(0.1)}, C: append(c, c...)}
	for h := range 2 {
		for i := range 4 {
			l.LogDecay = append(l.LogDecay, math.Log(0.5))
			l.Freq = append(l.Freq, 2*math.Pi*(float64(i)/8+float64(h)/16))
			l.B = append(l.B, 10) // in the vectors the input factor has ξ = 1, here 0.1
		}
	}
	k := n.kernels(l, 6)
	compare(t, "DFouT h=0", k[0], 1.45119749967775, 0.719708277169767, 1.495575547704077, 1.684681739516563, 0.989458498355402, 2.442750916467203)
	compare(t, "DFouT h=1", k[1], 1.257985969119052, 0.577834409025228, 1.419210713001652, 0.308790822564394, 0.450869805865156, -0.497461945466701)
}

func parts(z []complex128) []float64 {
	var x []float64
	for _, v := range z {
		x = append(x, real(v), imag(v))
	}
	return x
}

func compare(t *testing.T, what string, got []float64, want ...float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, expected %d", what, len(got), len(want))
	}
	for i, w := range want {
		if !(math.Abs(got[i]-w) < 1e-12) {
			t.Errorf("%s[%d] = %.15g, expected %.15g", what, i, got[i], w)
		}
	}
}
