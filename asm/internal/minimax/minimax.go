// Package minimax fits polynomials with the least maximal error, by the exchange algorithm of Remez
// in math/big. It returns the coefficients that the kernels use.
package minimax

import (
	"math"
	"math/big"
)

// Function returns its value at x to well over float64's precision.
type Function func(x *big.Float) *big.Float

// Fit returns the coefficients, lowest first, of the polynomial P of a degree that minimises the
// largest |weight·(P − f)| over lo ≤ x ≤ hi, and that largest error.
//
// The best P is the one whose error reaches its maximum degree+2 times with alternating signs
// (Chebyshev). Each round finds the polynomial with errors of equal size at degree+2 points, then
// moves the points to the extremes of its error.
func Fit(f, weight Function, lo, hi float64, degree int) (coefficients []float64, largest float64) {
	s := solver{f: f, weight: weight}
	count, grid := degree+2, 24*(degree+2)
	for i := range grid + 1 {
		x := (lo+hi)/2 - (hi-lo)/2*math.Cos(math.Pi*float64(i)/float64(grid))
		if p := s.sample(x); p.w.Sign() != 0 {
			s.grid = append(s.grid, p)
		}
	}
	points := make([]sample, count)
	for i := range points {
		points[i] = s.grid[i*(len(s.grid)-1)/(count-1)]
	}
	const rounds = 20
	for range rounds {
		s.level(points)
		var ratio float64
		if points, ratio = s.extremes(); len(points) != count {
			panic("minimax: the error alternates too often or not often enough")
		}
		if ratio < 1+1e-13 {
			break
		}
	}
	for _, c := range s.c[:count-1] {
		coefficients = append(coefficients, float(c))
	}
	return coefficients, math.Abs(float(s.c[count-1]))
}

type solver struct {
	f, weight Function
	grid      []sample
	c         []*big.Float // the polynomial, and its error at the points
}

// sample is a point with f and its weight there.
type sample struct {
	at      float64
	x, f, w *big.Float
}

func (s *solver) sample(at float64) sample {
	x := number(at)
	return sample{at, x, s.f(x), s.weight(x)}
}

// level solves w_i·(P(x_i) − f_i) = (−1)^i·E for the coefficients and E.
func (s *solver) level(points []sample) {
	rows := make([][]*big.Float, len(points))
	for i, p := range points {
		power := p.w
		for range len(points) - 1 {
			rows[i] = append(rows[i], power)
			power = mul(power, p.x)
		}
		rows[i] = append(rows[i], number(float64(2*(i%2)-1)), mul(p.w, p.f))
	}
	s.c = eliminate(rows)
}

// err returns the weighted error at a sample.
func (s *solver) err(p sample) float64 {
	y := number(0)
	for i := len(s.c) - 2; i >= 0; i-- {
		y = add(mul(y, p.x), s.c[i])
	}
	return float(mul(p.w, sub(y, p.f)))
}

// extremes returns the place of the largest error in each run of a sign, and the ratio of the
// largest to the smallest of these errors.
func (s *solver) extremes() (points []sample, ratio float64) {
	errs := make([]float64, len(s.grid))
	for i, p := range s.grid {
		errs[i] = s.err(p)
	}
	least, most := math.Inf(1), 0.0
	for from := 0; from < len(errs); {
		best, to := from, from
		for ; to < len(errs) && errs[to] > 0 == (errs[from] > 0); to++ {
			if math.Abs(errs[to]) > math.Abs(errs[best]) {
				best = to
			}
		}
		p := s.grid[best]
		if best > 0 && best < len(errs)-1 {
			p = s.peak(p.at, min(p.at-s.grid[best-1].at, s.grid[best+1].at-p.at))
		}
		points = append(points, p)
		e := math.Abs(s.err(p))
		least, most = min(least, e), max(most, e)
		from = to
	}
	return points, most / least
}

// peak returns the place of the largest error near x, by parabolas through three points h apart.
func (s *solver) peak(x, h float64) sample {
	const steps = 3
	for range steps {
		left, middle, right := s.err(s.sample(x-h)), s.err(s.sample(x)), s.err(s.sample(x+h))
		x += h / 2 * (left - right) / (left - 2*middle + right)
		h /= 16
	}
	return s.sample(x)
}

// eliminate solves a linear system by Gaussian elimination; the last column is the right side.
func eliminate(rows [][]*big.Float) []*big.Float {
	n := len(rows)
	for k := range n {
		pivot := k
		for i := k; i < n; i++ {
			if newFloat().Abs(rows[i][k]).Cmp(newFloat().Abs(rows[pivot][k])) > 0 {
				pivot = i
			}
		}
		rows[k], rows[pivot] = rows[pivot], rows[k]
		for i := range n {
			if i == k {
				continue
			}
			factor := quo(rows[i][k], rows[k][k])
			for j := k; j <= n; j++ {
				rows[i][j] = sub(rows[i][j], mul(factor, rows[k][j]))
			}
		}
	}
	x := make([]*big.Float, n)
	for k := range x {
		x[k] = quo(rows[k][n], rows[k][k])
	}
	return x
}
