package dataset

import "math"

// moments sums up the samples of a channel.
type moments struct {
	n            int
	sum, squares float64
}

// add takes in a stretch of samples.
func (m *moments) add(x []float32) {
	var sum, squares float64 // of the stretch alone: small numbers lose little to each other
	for _, v := range x {
		sum += float64(v)
		squares += float64(v) * float64(v)
	}
	m.n, m.sum, m.squares = m.n+len(x), m.sum+sum, m.squares+squares
}

// meanStd returns the mean and the standard deviation, 1 where the channel is constant.
func (m *moments) meanStd() (mean, std float32) {
	center := m.sum / float64(m.n)
	std = float32(math.Sqrt(max(m.squares/float64(m.n)-center*center, 0)))
	if std == 0 {
		std = 1
	}
	return float32(center), std
}
