package ssm

import (
	"math"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/random"
)

// The vectors of docs/maths.md §2.5, computed in float64 by the official formulas and their
// automatic derivatives.

var goldenC = []complex128{1, 0.5i, -0.25 + 0.25i, 0.1 - 0.3i}

// caseG1 is M=4, A = −½ + iπn, Δ = 0.05, B = 1.
func caseG1(disc Disc) *Params {
	p := NewParams(Config{DModel: 1, DState: 8, Init: Lin, Disc: disc, TrainB: true})
	p.Step[0] = math.Log(0.05)
	for n := range 4 {
		p.Decay[n] = math.Log(0.5)
		p.Freq[n] = math.Pi * float64(n)
	}
	copy(p.C, goldenC)
	return p
}

// caseG2 is DFouT's grid for N=8, H=2 with ξ = 0.1, ρ = ½.
func caseG2(param Param) *Params {
	p := NewParams(Config{DModel: 2, DState: 8, Init: DFouT, Disc: ZOH, Param: param, AReal: 0.5})
	for h := range 2 {
		p.Step[h] = math.Log(0.1)
		copy(p.C[4*h:], goldenC)
	}
	if err := p.initPoles(random.Stream{}); err != nil {
		panic(err)
	}
	return p
}

func TestGoldenKernels(t *testing.T) {
	tenth := func(k ...float64) []float64 { // ξ times the listed kernel of (e^a − 1)/a
		for i := range k {
			k[i] *= 0.1
		}
		return k
	}
	tests := []struct {
		name      string
		p         *Params
		stepScale float64
		row       int
		want      []float64
	}{
		{"G1 zoh", caseG1(ZOH), 1, 0, []float64{0.083128438329907, 0.078692693866859, 0.072280748429062, 0.063484763856252,
			0.052959786328227, 0.042207242605974, 0.033153791917316, 0.027633822106467}},
		{"G1 bilinear", caseG1(Bilinear), 1, 0, []float64{0.083016154194732, 0.078423485826196, 0.07211553822732, 0.063659405528614,
			0.053586565404458, 0.043218129235731, 0.0343030950726, 0.028560378934558}},
		{"G1 zoh step scale 2", caseG1(ZOH), 2, 0, []float64{0.161821132196766, 0.135765512285314, 0.095167028934201, 0.060787614023783,
			0.058182542070088, 0.091596083361946, 0.137063388875651, 0.160284157270502}},
		{"G2 channel 0", caseG2(ParamDiscrete), 1, 0, tenth(1.45119749967775, 0.719708277169767, 1.495575547704077, 1.684681739516563,
			0.989458498355402, 2.442750916467203)},
		{"G2 channel 1", caseG2(ParamContinuous), 1, 1, tenth(1.257985969119052, 0.577834409025228, 1.419210713001652, 0.308790822564394,
			0.450869805865156, -0.497461945466701)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			k := test.p.Discretize(test.p.Disc, test.stepScale).Kernel(len(test.want))[test.row]
			compare(t, "K", k, test.want, 1e-12)
		})
	}
}

func TestGoldenGradients(t *testing.T) {
	p := caseG1(ZOH)
	d := withModes(p)
	k := d.Kernel(8)[0]
	dk := make([]float64, 8)
	var loss float64
	for l := range dk {
		dk[l] = float64(l+1) / 8
		loss += dk[l] * k[l]
	}
	compare(t, "loss", []float64{loss}, []float64{0.21031057929071834}, 1e-12)

	grad := zeroParams(p.Config)
	g, m := sums(d, [][]float64{dk})
	p.BackwardChannels(grad, d, g, m, 0, 1)
	compare(t, "log dt", grad.Step, []float64{0.043787855959293}, 1e-12)
	compare(t, "log_A_real", grad.Decay, []float64{-0.050149460674611, 0.019382232922698, 0.00737884518711, 0.0001484236344}, 1e-12)
	compare(t, "A_imag", grad.Freq, []float64{0, -0.029243392757671, 0.027456899761868, -0.023759575731551}, 1e-12)
	compare(t, "C", floats(grad.C), []float64{0.395968058024283, 0, 0.262659775181438, -0.269634952825833,
		-0.014249889016993, -0.321894945558299, -0.193505328235829, -0.151405982127537}, 1e-12)
	compare(t, "B", floats(grad.B), []float64{0.395968058024283, 0, -0.134817476412917, -0.131329887590719,
		-0.076911264135326, 0.084036208643823, 0.026071261814678, -0.073192196683502}, 1e-12)
}

// compare checks within an absolute tolerance.
func compare(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, expected %d", what, len(got), len(want))
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tol) {
			t.Errorf("%s[%d] = %.17g, expected %.17g (off by %.2g)", what, i, got[i], want[i], got[i]-want[i])
		}
	}
}

// zeroParams returns parameters whose every entry is 0, to add gradients to.
func zeroParams(cfg Config) *Params {
	p := NewParams(cfg)
	clear(p.B)
	return p
}

// floats views complex numbers as pairs.
func floats(z []complex128) []float64 {
	x := make([]float64, 0, 2*len(z))
	for _, c := range z {
		x = append(x, real(c), imag(c))
	}
	return x
}

// sums returns G_n = Σ_l dk[l]·λ̄^l and M_n = Σ_l l·dk[l]·λ̄^l for rows dk [directions·H][length].
func sums(d *Discrete, dk [][]float64) (g, m []complex128) {
	g, m = make([]complex128, len(dk)*d.M), make([]complex128, len(dk)*d.M)
	for row := range dk {
		for n := range d.M {
			i := row*d.M + n
			for l, x := range dk[row] {
				z := complex(x, 0) * power(d.LogLambda[row%d.H*d.M+n], l)
				g[i] += z
				m[i] += complex(float64(l), 0) * z
			}
		}
	}
	return g, m
}
