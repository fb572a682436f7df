package calibration

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// tail is the probability on either side of an interval with 95 % confidence.
const tail = 0.025

// normal975 is the 97.5 % quantile of the standard normal distribution.
const normal975 = 1.959963984540054

// Wilson returns the 95 % score interval of a probability, given k successes in n trials (E. B.
// Wilson, "Probable inference, the law of succession, and statistical inference", 1927). Without
// trials it is 0 … 1.
func Wilson(k, n int) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	trials, p, z := float64(n), float64(k)/float64(n), normal975
	middle := p + z*z/(2*trials)
	half := z * math.Sqrt(p*(1-p)/trials+z*z/(4*trials*trials))
	scale := 1 + z*z/trials
	low, high = max(0, (middle-half)/scale), min(1, (middle+half)/scale)
	if k == 0 {
		low = 0 // without rounding
	}
	if k == n {
		high = 1
	}
	return low, high
}

// Poisson returns the exact 95 % interval of the rate of a Poisson process, given k events in the
// given time (F. Garwood, "Fiducial limits for the Poisson distribution", 1936). The unit is that
// of 1/time. Without time it is 0 … +Inf.
func Poisson(k int, time float64) (low, high float64) {
	if !(time > 0) {
		return 0, math.Inf(1)
	}
	if k > 0 {
		low = mathext.GammaIncRegInv(float64(k), tail)
	}
	return low / time, mathext.GammaIncRegInv(float64(k+1), 1-tail) / time
}
