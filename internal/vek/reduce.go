package vek

// Sums run over blocks of at most sumBlock elements, eight interleaved partial sums a block, and over the blocks
// in float64: the order depends on the length alone, and the error does not grow with it.
const sumBlock = 512

// Sum returns Σ x.
func Sum(x []float32) float32 {
	total := 0.0
	for len(x) > 0 {
		n := min(len(x), sumBlock)
		total += float64(sumGeneric(x[:n]))
		x = x[n:]
	}
	return float32(total)
}

// Dot returns Σ x·y.
func Dot(x, y []float32) float32 {
	sameLen("Dot", len(x), y)
	total := 0.0
	for len(x) > 0 {
		n := min(len(x), sumBlock)
		total += float64(dotGeneric(x[:n], y[:n]))
		x, y = x[n:], y[n:]
	}
	return float32(total)
}

// SumSquares returns Σ x².
func SumSquares(x []float32) float32 { return Dot(x, x) }

func sumGeneric(x []float32) float32 {
	var s [8]float32
	for ; len(x) >= 8; x = x[8:] {
		s[0] += x[0]
		s[1] += x[1]
		s[2] += x[2]
		s[3] += x[3]
		s[4] += x[4]
		s[5] += x[5]
		s[6] += x[6]
		s[7] += x[7]
	}
	for i, v := range x {
		s[i&7] += v
	}
	return fold(&s)
}

func dotGeneric(x, y []float32) float32 {
	var s [8]float32
	for len(x) >= 8 && len(y) >= 8 {
		s[0] += float32(x[0] * y[0])
		s[1] += float32(x[1] * y[1])
		s[2] += float32(x[2] * y[2])
		s[3] += float32(x[3] * y[3])
		s[4] += float32(x[4] * y[4])
		s[5] += float32(x[5] * y[5])
		s[6] += float32(x[6] * y[6])
		s[7] += float32(x[7] * y[7])
		x, y = x[8:], y[8:]
	}
	for i := range x {
		s[i&7] += float32(x[i] * y[i])
	}
	return fold(&s)
}

func fold(s *[8]float32) float32 {
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}
