package audio

import (
	"io"
	"math"
)

// Mono returns a Source of one channel of r, or of the mean of all, as the Options of r select.
func Mono(r *Reader) Source {
	if r.Format.Channels == 1 {
		return r
	}
	return &mono{in: r, buf: make([]float32, max(blockLen/r.Format.Channels, 1)*r.Format.Channels)}
}

// MonoAt returns the audio of Mono at a sampling rate in Hz.
func (r *Reader) MonoAt(rate int) (Source, error) {
	if r.Format.SampleRate == rate {
		return Mono(r), nil
	}
	return NewResampleReader(Mono(r), r.Format.SampleRate, rate)
}

type mono struct {
	in  *Reader
	buf []float32 // whole frames

	mean, each float64 // sums of squares: of the mean, and of all channels
}

// Read implements Source.
func (m *mono) Read(dst []float32) (n int, err error) {
	channels := m.in.Format.Channels
	for n < len(dst) && err == nil {
		var k int
		k, err = m.in.Read(m.buf[:min((len(dst)-n)*channels, len(m.buf))])
		for frame := range k / channels {
			dst[n] = m.mix(m.buf[frame*channels:][:channels])
			n++
		}
	}
	if err == io.EOF {
		m.compare()
	}
	return n, err
}

// mix returns the sample of a frame.
func (m *mono) mix(frame []float32) float32 {
	if c := m.in.opt.Channel; c != nil {
		return frame[*c]
	}
	sum := 0.0
	for _, v := range frame {
		sum += float64(v)
		m.each += float64(v) * float64(v)
	}
	sum /= float64(len(frame))
	m.mean += sum * sum
	return float32(sum)
}

// The mean correlation of two channels below which they are reported as different, and as opposite.
const (
	differ   = 0.3
	opposite = -0.5
)

// compare adds a note if the channels have little in common, because their mean may then be
// useless. The power of the mean of n channels with the mean power p is p·(1+(n−1)ρ)/n, where ρ is
// their mean correlation.
func (m *mono) compare() {
	n := float64(m.in.Format.Channels)
	if m.each == 0 || m.in.opt.Channel != nil {
		return
	}
	share := n * m.mean / m.each // of the mean power
	rho := (n*share - 1) / (n - 1)
	switch {
	case share < 0.05 || rho < opposite:
		m.in.opt.note("its %d channels cancel: their mean, which is read, has %.2g %% of their power; --channel N reads one", int(n), 100*share)
	case rho < differ:
		m.in.opt.note("its %d channels differ (mean correlation %.2f); their mean is read, --channel N reads one", int(n), math.Max(rho, -1))
	}
	m.each = 0 // once
}
