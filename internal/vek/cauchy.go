package vek

// The sums of S4's kernel over the modes at the nodes z = iζ, and their gradients, in float64
// (docs/maths.md §17.2). A pole a and its conjugate share a denominator that needs real arithmetic
// only.

// The number of nodes of a call is a multiple of CauchyNodes. Callers pad ζ with any finite values.
const CauchyNodes = 16

// cauchyRun is the largest number of (mode, node) pairs in one call of assembly.
const cauchyRun = 1 << 15

// CauchySums sets rows 2j and 2j+1 of sums, [2·CauchyPairs][nodes], to the real and imaginary parts
// of Σ_m v_jm/(z − a_m) + conj(v_jm)/(z − conj a_m) at the nodes z = iζ. A mode's terms are |a|²,
// −2·Re a, (2·Re a)², and for each j 2·Re v and 2·Re(v·conj a). The number of nodes must be a
// multiple of CauchyNodes.
func CauchySums(sums, zeta, terms []float64) {
	nodes, modes := len(zeta), len(terms)/CauchyTerms
	require("CauchySums", nodes%CauchyNodes == 0 && len(terms) == modes*CauchyTerms && len(sums) == 2*CauchyPairs*nodes)
	most := max(cauchyRun/max(modes, 1)/CauchyNodes, 1) * CauchyNodes
	for at := 0; at < nodes; at += most {
		cauchySums(sums[at:], nodes, zeta[at:min(at+most, nodes)], terms, modes)
	}
}

// rows 2j and 2j+1 of sums = real and imaginary parts of Σ_m (iζ·p − q)/(|a|² − ζ² − 2iζ·Re a),
// where p = 2·Re v and q = 2·Re(v·conj a)
func cauchySumsGeneric(sums []float64, stride int, zeta, terms []float64, modes int) {
	for k, z := range zeta {
		var re, im [CauchyPairs]float64
		z2 := z * z
		for t := terms[:modes*CauchyTerms]; len(t) > 0; t = t[CauchyTerms:] {
			d := t[0] - z2
			r := 1 / (float64(d*d) + float64(z2*t[2]))
			x, y := d*r, t[1]*r
			zy := z2 * y
			for i := range re {
				p, q := t[3+2*i], t[4+2*i]
				re[i] += float64(p*zy) - float64(q*x)
				im[i] += float64(p*x) + float64(q*y)
			}
		}
		for i := range re {
			sums[2*i*stride+k], sums[(2*i+1)*stride+k] = re[i], im[i]*z
		}
	}
}

// CauchyGrad adds to the row of mode m of sums, [modes][CauchyGrads], four numbers for each j: the
// real and imaginary parts of T1 = Σ_k Re q·aG − ζ·Im q·G and of T2 = Σ_k Re q·(a²G² − G/2) − ζ·Im
// q·aG², where G = 1/(a² + ζ²). Rows 2j and 2j+1 of by, [2·CauchyPairs][nodes], are Re q and ζ·Im
// q. Then
//
//	Σ_k q/(z−a) + conj(q/(z−conj a)) = −2·T1,  Σ_k q/(z−a)² + conj(q/(z−conj a)²) = 4·T2.
//
// The numbers of a pole are Re a², Im a², Re a and Im a. The number of nodes must be a multiple of
// CauchyNodes.
func CauchyGrad(sums, by, zeta, poles []float64) {
	nodes, modes := len(zeta), len(poles)/CauchyPoles
	require("CauchyGrad", nodes%CauchyNodes == 0 && len(poles) == modes*CauchyPoles && len(sums) == modes*CauchyGrads && len(by) == 2*CauchyPairs*nodes)
	for at := 0; at < nodes; at += cauchyRun {
		part := zeta[at:min(at+cauchyRun, nodes)]
		most := max(cauchyRun/len(part), 1)
		for m := 0; m < modes; m += most {
			n := min(most, modes-m)
			cauchyGrad(sums[m*CauchyGrads:(m+n)*CauchyGrads], by[at:], nodes, part, poles[m*CauchyPoles:], n)
		}
	}
}

// sums[m] += T1 and T2 of CauchyGrad over the nodes, for each pair
func cauchyGradGeneric(sums, by []float64, stride int, zeta, poles []float64, modes int) {
	for m := range modes {
		pole, sum := poles[m*CauchyPoles:], sums[m*CauchyGrads:(m+1)*CauchyGrads]
		re, im, ar, ai := pole[0], pole[1], pole[2], pole[3]
		for k, z := range zeta {
			d := float64(z*z) + re
			r := 1 / (float64(d*d) + float64(im*im))
			gr, gi := d*r, -im*r
			ur, ui := float64(ar*gr)-float64(ai*gi), float64(ar*gi)+float64(ai*gr)
			vr, vi := float64(ur*gr)-float64(ui*gi), float64(ur*gi)+float64(ui*gr)
			wr, wi := float64(ur*ur)-float64(ui*ui)-0.5*gr, 2*float64(ur*ui)-0.5*gi
			for i := range CauchyPairs {
				q, zq, s := by[2*i*stride+k], by[(2*i+1)*stride+k], sum[4*i:4*i+4]
				s[0] += float64(q*ur) - float64(zq*gr)
				s[1] += float64(q*ui) - float64(zq*gi)
				s[2] += float64(q*wr) - float64(zq*vr)
				s[3] += float64(q*wi) - float64(zq*vi)
			}
		}
	}
}
