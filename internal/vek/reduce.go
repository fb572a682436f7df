package vek

// sumBlock is the length of a block in plain Go. A block is summed by at least 16 interleaved
// partial sums of at most 32 elements, which are added by halves. Blocks are added in float64. The
// order depends only on the length and the level. The error is below (32 + 6)·2⁻²⁴·Σ|terms| for any
// length.
const sumBlock = 512

// Sum returns Σ x.
func Sum(x []float32) float32 {
	total := 0.0
	for len(x) > longestRun {
		total += sum(x[:longestRun])
		x = x[longestRun:]
	}
	return float32(total + sum(x))
}

// Dot returns Σ x·y.
func Dot(x, y []float32) float32 {
	sameLen("Dot", len(x), y)
	total := 0.0
	for len(x) > longestRun {
		total += dot(x[:longestRun], y[:longestRun])
		x, y = x[longestRun:], y[longestRun:]
	}
	return float32(total + dot(x, y))
}

// CentralSquares returns Σ (x − c)².
func CentralSquares(x []float32, c float32) float32 {
	total := 0.0
	for len(x) > longestRun {
		total += centralSquares(x[:longestRun], c)
		x = x[longestRun:]
	}
	return float32(total + centralSquares(x, c))
}

// CentralDot returns Σ x·(y − c).
func CentralDot(x, y []float32, c float32) float32 {
	sameLen("CentralDot", len(x), y)
	total := 0.0
	for len(x) > longestRun {
		total += centralDot(x[:longestRun], y[:longestRun], c)
		x, y = x[longestRun:], y[longestRun:]
	}
	return float32(total + centralDot(x, y, c))
}

func sumGeneric(x []float32) float64 {
	total := 0.0
	for len(x) > 0 {
		n := min(len(x), sumBlock)
		total += float64(blockSum(x[:n]))
		x = x[n:]
	}
	return total
}

func dotGeneric(x, y []float32) float64 {
	total := 0.0
	for len(x) > 0 {
		n := min(len(x), sumBlock)
		total += float64(blockDot(x[:n], y[:n]))
		x, y = x[n:], y[n:]
	}
	return total
}

func centralSquaresGeneric(x []float32, c float32) float64 {
	var buf [sumBlock]float32
	total := 0.0
	for len(x) > 0 {
		n := min(len(x), sumBlock)
		subtract(buf[:n], x[:n], c)
		total += float64(blockDot(buf[:n], buf[:n]))
		x = x[n:]
	}
	return total
}

func centralDotGeneric(x, y []float32, c float32) float64 {
	var buf [sumBlock]float32
	total := 0.0
	for len(x) > 0 {
		n := min(len(x), sumBlock)
		subtract(buf[:n], y[:n], c)
		total += float64(blockDot(x[:n], buf[:n]))
		x, y = x[n:], y[n:]
	}
	return total
}

func subtract(dst, x []float32, c float32) {
	for i, v := range x {
		dst[i] = v - c
	}
}

// partial holds the sums of elements with equal indices modulo 16.
type partial [16]float32

func blockSum(x []float32) float32 {
	var s partial
	for ; len(x) >= 4*len(s); x = x[4*len(s):] { // four steps at once keep s in registers
		a, b, c, d := (*partial)(x), (*partial)(x[16:]), (*partial)(x[32:]), (*partial)(x[48:])
		for i := range s {
			s[i] = s[i] + a[i] + b[i] + c[i] + d[i]
		}
	}
	for i, v := range x {
		s[i%len(s)] += v
	}
	return s.fold()
}

func blockDot(x, y []float32) float32 {
	var s partial
	for ; len(x) >= 2*len(s) && len(y) >= 2*len(s); x, y = x[2*len(s):], y[2*len(s):] {
		a, b, c, d := (*partial)(x), (*partial)(y), (*partial)(x[16:]), (*partial)(y[16:])
		for i := range s {
			s[i] = s[i] + float32(a[i]*b[i]) + float32(c[i]*d[i])
		}
	}
	for i, v := range x {
		s[i%len(s)] += float32(v * y[i])
	}
	return s.fold()
}

// fold adds the upper half to the lower half until one sum is left.
func (s *partial) fold() float32 {
	for half := len(s) / 2; half > 0; half /= 2 {
		for i := range half {
			s[i] += s[i+half]
		}
	}
	return s[0]
}
