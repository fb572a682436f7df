package vek

// CMulConjAdd adds conj(a)·b to d; d may be a or b as well.
func CMulConjAdd(dRe, dIm, aRe, aIm, bRe, bIm []float32) {
	sameLen("CMulConjAdd", len(dRe), dIm, aRe, aIm, bRe, bIm)
	cmulConjAdd(dRe, dIm, aRe, aIm, bRe, bIm)
}

// d = (aRe + i·aIm)(bRe + i·bIm)
func cmulGeneric(dRe, dIm, aRe, aIm, bRe, bIm []float32) {
	n := len(dRe)
	dIm, aRe, aIm, bRe, bIm = dIm[:n], aRe[:n], aIm[:n], bRe[:n], bIm[:n]
	for i := range dRe {
		xr, xi, yr, yi := aRe[i], aIm[i], bRe[i], bIm[i]
		dRe[i] = float32(xr*yr) - float32(xi*yi)
		dIm[i] = float32(xr*yi) + float32(xi*yr)
	}
}

// d = (aRe + i·aIm)(bRe − i·bIm)
func cmulConjGeneric(dRe, dIm, aRe, aIm, bRe, bIm []float32) {
	n := len(dRe)
	dIm, aRe, aIm, bRe, bIm = dIm[:n], aRe[:n], aIm[:n], bRe[:n], bIm[:n]
	for i := range dRe {
		xr, xi, yr, yi := aRe[i], aIm[i], bRe[i], bIm[i]
		dRe[i] = float32(xr*yr) + float32(xi*yi)
		dIm[i] = float32(xi*yr) - float32(xr*yi)
	}
}

// d = d + (aRe − i·aIm)(bRe + i·bIm)
func cmulConjAddGeneric(dRe, dIm, aRe, aIm, bRe, bIm []float32) {
	n := len(dRe)
	dIm, aRe, aIm, bRe, bIm = dIm[:n], aRe[:n], aIm[:n], bRe[:n], bIm[:n]
	for i := range dRe {
		xr, xi, yr, yi := aRe[i], aIm[i], bRe[i], bIm[i]
		dRe[i] += float32(xr*yr) + float32(xi*yi)
		dIm[i] += float32(xr*yi) - float32(xi*yr)
	}
}
