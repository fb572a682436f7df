// Package minimax fits polynomials and ratios of polynomials with the least maximal error, by the
// exchange algorithm of Remez in math/big. It returns the coefficients that the kernels use.
package minimax

import (
	"math"
	"math/big"
)

// Function returns its value at x to well over float64's precision.
type Function func(x *big.Float) *big.Float

// Fit returns the coefficients, lowest first, of the polynomial P of a degree that minimises the
// largest |weight·(P − f)| over lo ≤ x ≤ hi, and that largest error.
func Fit(f, weight Function, lo, hi float64, degree int) (coefficients []float64, largest float64) {
	p, _, largest := FitRatio(f, weight, lo, hi, degree, 0)
	return p, largest
}

// FitRatio returns the coefficients, lowest first, of a polynomial P of degree above and a
// polynomial Q of degree below with Q(0) = 1. P/Q minimises the largest |weight·(P/Q − f)| over lo
// ≤ x ≤ hi, which FitRatio also returns.
//
// The error of the best P/Q reaches its largest size, with alternating signs, at one point more
// than P/Q has coefficients (Chebyshev). Each round finds the ratio whose errors at that many
// points have equal size and alternating signs. It then moves the points to the extremes of this
// ratio's error.
func FitRatio(f, weight Function, lo, hi float64, above, below int) (p, q []float64, largest float64) {
	s := solver{f: f, weight: weight, above: above, below: below}
	count := above + below + 2
	grid := 24 * count
	for i := range grid + 1 {
		t := (1 - math.Cos(math.Pi*float64(i)/float64(grid))) / 2
		if below > 0 {
			t /= 6 - 5*t // denser near lo
		}
		if p := s.sample(lo + (hi-lo)*t); p.w.Sign() != 0 {
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
	return floats(s.p), floats(s.q), math.Abs(float(s.e))
}

func floats(c []*big.Float) (v []float64) {
	for _, c := range c {
		v = append(v, float(c))
	}
	return v
}

type solver struct {
	f, weight    Function
	above, below int // degrees of P and Q
	grid         []sample
	p, q         []*big.Float
	e            *big.Float // the error at the points
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

// level solves w_i·(P(x_i)/Q(x_i) − f_i) = (−1)^i·E for the coefficients and E. For a polynomial
// this is one call of solve. For a ratio, E is the value of e for which solve returns e. The secant
// method finds it.
func (s *solver) level(points []sample) {
	x, e := number(0), s.solve(points, number(0))
	change := sub(e, x)
	const steps = 8
	for range steps {
		if s.below == 0 || change.Sign() == 0 {
			break
		}
		next := s.solve(points, e)
		was := change
		change = sub(next, e)
		slope := quo(sub(change, was), sub(e, x))
		x, e = e, sub(e, quo(change, slope))
	}
}

// solve solves w_i·(P(x_i) − f_i·Q(x_i)) = (−1)^i·(e·(Q(x_i) − 1) + E), which is linear in the
// coefficients and E, for a given e. It returns E.
func (s *solver) solve(points []sample, e *big.Float) *big.Float {
	rows := make([][]*big.Float, len(points))
	for i, p := range points {
		sign := number(float64(1 - 2*(i%2)))
		goal := mul(p.w, p.f)
		rows[i] = powers(rows[i], p.w, p.x, s.above+1)
		rows[i] = powers(rows[i], sub(number(0), mul(p.x, add(goal, mul(sign, e)))), p.x, s.below)
		rows[i] = append(rows[i], sub(number(0), sign), goal)
	}
	c := eliminate(rows)
	s.p = c[:s.above+1]
	s.q = append([]*big.Float{number(1)}, c[s.above+1:len(c)-1]...)
	s.e = c[len(c)-1]
	return s.e
}

// powers appends the n numbers first, first·x, first·x², …
func powers(row []*big.Float, first, x *big.Float, n int) []*big.Float {
	for range n {
		row = append(row, first)
		first = mul(first, x)
	}
	return row
}

// err returns the weighted error at a sample.
func (s *solver) err(p sample) float64 {
	return float(mul(p.w, sub(quo(horner(s.p, p.x), horner(s.q, p.x)), p.f)))
}

func horner(c []*big.Float, x *big.Float) *big.Float {
	y := number(0)
	for i := len(c) - 1; i >= 0; i-- {
		y = add(mul(y, x), c[i])
	}
	return y
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
