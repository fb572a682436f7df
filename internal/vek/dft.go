package vek

// maxDFT is the length of the longest transform that is computed by its definition.
const maxDFT = 160

// FFTRoots fills roots with exp(−2πi·j/n) for j < n = len(roots)/2, as (re, im) pairs, each rounded
// once.
func FFTRoots(roots []float32) {
	n := len(roots) / 2
	for j := range n {
		c, s := unitRoot(j, n)
		roots[2*j], roots[2*j+1] = float32(c), float32(-s)
	}
}

// DFT transforms n = len(re) ≤ 160 numbers in place by the definition, in natural order. It serves
// lengths that are not a whole number of groups of vectors. roots is filled by FFTRoots.
func DFT(re, im, roots []float32) {
	require("DFT", len(re) <= maxDFT && len(im) == len(re) && len(roots) == 2*len(re))
	dftGeneric(re, im, roots)
}

// y_k = Σ_j x_j exp(−2πi·jk/n)
func dftGeneric(re, im, roots []float32) {
	var xr, xi [maxDFT]float32
	n := copy(xr[:], re)
	copy(xi[:], im)
	for k := range n {
		var sr, si float64
		for j := range n {
			w := 2 * (j * k % n)
			tr, ti := rotate(xr[j], xi[j], roots[w], roots[w+1])
			sr, si = sr+float64(tr), si+float64(ti)
		}
		re[k], im[k] = float32(sr), float32(si)
	}
}
