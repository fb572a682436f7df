package dataset

import "math"

// Moments accumulates the mean and the variance of a channel, or of a target.
type Moments struct {
	n          int
	mean       float64
	deviations float64 // sum of squared deviations from the mean
}

// Add includes the samples of x. It computes the moments of x in two passes and combines them with
// those of the samples before (Chan, Golub and LeVeque, 1983): the difference E[x²] − E[x]² would
// lose a small variance next to a large mean.
func (m *Moments) Add(x []float32) {
	if len(x) == 0 {
		return
	}
	var sum, deviations float64
	for _, v := range x {
		sum += float64(v)
	}
	mean := sum / float64(len(x))
	for _, v := range x {
		d := float64(v) - mean
		deviations += d * d
	}
	n, k := float64(m.n), float64(len(x))
	shift := mean - m.mean
	m.mean += shift * k / (n + k)
	m.deviations += deviations + shift*shift*n*k/(n+k)
	m.n += len(x)
}

// Count returns the number of samples.
func (m *Moments) Count() int { return m.n }

// constantStd bounds the standard deviation of a constant channel as a fraction of its mean:
// float32 has 24 bits, so a smaller one is rounding.
const constantStd = 1e-6

// MeanStd returns the mean and the standard deviation. For a constant channel, std is 1.
func (m *Moments) MeanStd() (mean, std float32) {
	s := math.Sqrt(m.deviations / float64(max(m.n, 1)))
	if s <= constantStd*math.Abs(m.mean) {
		s = 1
	}
	return float32(m.mean), float32(s)
}

// MeanStdOf returns the mean and the standard deviation of each of several channels.
func MeanStdOf(channels []Moments) (mean, std []float32) {
	for i := range channels {
		m, s := channels[i].MeanStd()
		mean, std = append(mean, m), append(std, s)
	}
	return mean, std
}

// MeanStdOfSet returns the mean and the standard deviation of each channel over n examples of a
// set, from pass 0 on.
func MeanStdOfSet(s Set, channels, n int) (mean, std []float32, err error) {
	var e Example
	m := make([]Moments, channels)
	for i := range n {
		if err := s.Example(&e, i%s.Len(), i/s.Len()); err != nil {
			return nil, nil, err
		}
		for c := range m {
			m[c].Add(e.X[c*e.Len : (c+1)*e.Len])
		}
	}
	mean, std = MeanStdOf(m)
	return mean, std, nil
}
