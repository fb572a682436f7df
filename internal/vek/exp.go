package vek

import "math"

// Exp sets dst = exp(x) with an error below 2 ulp; results below 2⁻¹²⁶ are 0. dst may be x.
func Exp(dst, x []float32) {
	sameLen("Exp", len(dst), x)
	expGeneric(dst, x)
}

// Sigmoid sets dst = 1/(1 + exp(−x)) with an error below 3 ulp. dst may be x.
func Sigmoid(dst, x []float32) {
	sameLen("Sigmoid", len(dst), x)
	sigmoidGeneric(dst, x)
}

const (
	log2e = 1.44269504088896340735992468100189214
	ln2Hi = 0.693145751953125                        // 16 bits: n·ln2Hi is exact for |n| < 256
	ln2Lo = 1.42860682030941723212145817656807550e-6 // ln 2 − ln2Hi
	magic = 3 << 22                                  // x + magic rounds x to an integer, |x| < 2²²

	expMax = 88.72283  // exp of more overflows
	expMin = -87.33654 // exp of less is below 2⁻¹²⁶
)

// Coefficients of exp on [−ln2/2, ln2/2], least maximal relative error (1.9e-9).
const (
	exp2 = 0.49999992079791494
	exp3 = 0.16666420169870214
	exp4 = 0.041668225575175084
	exp5 = 0.008374815802985462
	exp6 = 0.0013836845674144403
)

// expSum returns exp(hi + lo) for |lo| ≪ 1: with n = round(hi/ln 2) and r = hi + lo − n·ln 2, 2ⁿ·p(r).
func expSum(hi, lo float32) float32 {
	switch {
	case hi > expMax:
		return float32(math.Inf(1))
	case hi < expMin:
		return 0
	}
	n := float32(hi*log2e) + magic
	n -= magic
	r := (hi - float32(n*ln2Hi)) + (lo - float32(n*ln2Lo))
	p := float32(float32(float32(float32(exp6*r)+exp5)*r)+exp4)*r + exp3
	p = float32(p*r) + exp2
	p = float32(float32(p*r)*r) + r + 1
	// 2ⁿ in two factors: n runs from −126 to 128.
	k := int32(n)
	half := k >> 1
	return p * pow2(half) * pow2(k-half)
}

// pow2 returns 2ⁿ, −126 ≤ n ≤ 127.
func pow2(n int32) float32 { return math.Float32frombits(uint32(n+127) << 23) }

func expGeneric(dst, x []float32) {
	x = x[:len(dst)]
	for i := range dst {
		v := x[i]
		if v != v {
			dst[i] = v
			continue
		}
		dst[i] = expSum(v, 0)
	}
}

// sigmoid evaluates the form whose exponential does not overflow.
func sigmoid(x float32) float32 {
	if x >= 0 {
		return 1 / (1 + expSum(-x, 0))
	}
	e := expSum(x, 0)
	return e / (1 + e)
}

func sigmoidGeneric(dst, x []float32) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = sigmoid(x[i])
	}
}
