package audio

import "math"

// The filter's design, in units of the lower rate's Nyquist frequency: the response falls between
// passband and 1, with the cut-off in the middle. 96 dB is the resolution of 16-bit samples.
const (
	passband    = 0.9
	cutoff      = (1 + passband) / 2
	attenuation = 96.0 // dB
)

// β and the length are Kaiser's estimates (J. F. Kaiser, "Nonrecursive digital filter design using
// the I0-sinh window function", 1974): β = 0.1102(A − 8.7) for A above 50 dB, and A − 7.95 =
// 2.285·Δω·N for N intervals between taps and a transition of width Δω in radians per tap.
const (
	beta      = 0.1102 * (attenuation - 8.7)
	intervals = (attenuation - 7.95) / (2.285 * (1 - passband) * math.Pi) // at the lower rate
)

// reach returns the number of inputs on either side of an output that the filter uses: 0 if the
// rates are equal.
func reach(from, to int) int {
	if from == to {
		return 0
	}
	return int(math.Ceil(intervals / 2 * scale(from, to)))
}

// scale is the number of inputs per sample of the lower rate.
func scale(from, to int) float64 { return max(1, float64(from)/float64(to)) }

// filters returns the filters of all phases, [to][2·reach]. Tap i of phase p weights the input that
// is i + 1 − reach − p/to samples after the output. The taps of a phase add up to 1.
func filters(from, to int) []float32 {
	if from == to {
		return []float32{1}
	}
	before := reach(from, to) - 1
	row := make([]float64, 2*reach(from, to))
	table := make([]float32, 0, to*len(row))
	for p := range to {
		sum := 0.0
		for i := range row {
			t := float64(i-before) - float64(p)/float64(to)
			row[i] = tap(t / scale(from, to))
			sum += row[i]
		}
		for _, v := range row {
			table = append(table, float32(v/sum))
		}
	}
	return table
}

// tap returns the windowed sinc at t samples of the lower rate, up to a factor.
func tap(t float64) float64 {
	edge := 2 * t / intervals
	if edge <= -1 || edge >= 1 {
		return 0
	}
	x, sinc := math.Pi*(cutoff*t), 1.0
	if x != 0 {
		sinc = math.Sin(x) / x
	}
	return sinc * besselI0(beta*math.Sqrt(1-edge*edge))
}

// besselI0 returns the modified Bessel function of order 0, Σ ((x/2)^k/k!)². Its argument is at
// most β.
func besselI0(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1.0; term > 1e-17*sum; k++ {
		term *= (x / 2 / k) * (x / 2 / k)
		sum += term
	}
	return sum
}
