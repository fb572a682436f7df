package audio

import (
	"errors"
	"fmt"
	"io"
	"math"
)

// Mono returns a Source of one channel of r, or of the mean of all, as the Options of r select.
func Mono(r *Reader) Source {
	if r.Format.Channels == 1 {
		return r
	}
	n := r.Format.Channels
	return &mono{in: r, buf: make([]float32, max(blockLen/n, 1)*n), power: make([]float64, n), first: make([]float64, n)}
}

// MonoAt returns the audio of Mono at a sampling rate in Hz.
func (r *Reader) MonoAt(rate int) (Source, error) {
	if r.Format.SampleRate == rate {
		return Mono(r), nil
	}
	return NewResampleReader(Mono(r), r.Format.SampleRate, rate)
}

// ErrTooLong is the error of Reader.ReadMono for more samples than the limit.
var ErrTooLong = errors.New("too long")

// ReadMono reads the audio of MonoAt to its end.
func (r *Reader) ReadMono(rate, limit int) (samples []float32, err error) {
	src, err := r.MonoAt(rate)
	for block := make([]float32, blockLen); err == nil; {
		var n int
		n, err = src.Read(block)
		if samples = append(samples, block[:n]...); len(samples) > limit {
			return nil, fmt.Errorf("audio: %w: more than %d samples at %d Hz", ErrTooLong, limit, rate)
		}
	}
	if err != io.EOF {
		return nil, err
	}
	return samples, nil
}

// maxFileSamples bounds what ReadMono returns: 1 GiB. A compressed file of a few kilobytes can
// contain days of silence.
const maxFileSamples = 1 << 28

// ReadMono is Options.ReadMono with the zero value.
func ReadMono(path string, rate int) ([]float32, error) { return Options{}.ReadMono(path, rate) }

// ReadMono reads one channel of a file, or the mean of all, and converts it to a sampling rate in
// Hz. Errors name the file. If the file is truncated, the error wraps ErrTruncated. More than 2²⁸
// samples at that rate are an error.
func (o Options) ReadMono(path string, rate int) ([]float32, error) {
	r, err := o.OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	samples, err := r.ReadMono(rate, maxFileSamples)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return samples, nil
}

type mono struct {
	in  *Reader
	buf []float32 // whole frames

	mean  float64   // sum of squares of the mean
	power []float64 // and of every channel
	first []float64 // sums of the products of every channel and the first one

	frames, from       int64   // in all, and where the current part of the recording began
	meanFrom, eachFrom float64 // mean, and the sum of power, there
	noted              bool
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
		m.frames += int64(k / channels)
		seconds := float64(m.frames-m.from) / float64(m.in.Format.SampleRate)
		if seconds >= partSeconds || err == io.EOF && (seconds >= 1 || m.from == 0) {
			m.part()
		}
		if err == io.EOF {
			m.compare()
		}
	}
	return n, err
}

// mix returns the sample of a frame.
func (m *mono) mix(frame []float32) float32 {
	if c := m.in.opt.Channel; c != nil && *c >= 0 {
		return frame[*c]
	}
	sum := 0.0
	for k, v := range frame {
		sum += float64(v)
		m.power[k] += float64(v) * float64(v)
		m.first[k] += float64(v) * float64(frame[0])
	}
	sum /= float64(len(frame))
	m.mean += sum * sum
	return float32(sum)
}

// The correlations of a channel and the first one below which they are reported as different, and
// as opposite.
const (
	differ   = 0.3
	opposite = -0.5
)

// partSeconds is the length of the parts of a recording in which its channels are compared.
const partSeconds = 10

// part adds a note if the channels cancel in a part of a recording that is not silent.
func (m *mono) part() {
	n, each := float64(len(m.power)), m.each()
	power, mean := each-m.eachFrom, n*(m.mean-m.meanFrom)
	loud := power/float64(m.frames-m.from) > 0.1*each/float64(m.frames)
	if opposed := mean < 0.05*power || n == 2 && mean < (1+opposite)/2*power; opposed && loud && !m.noted && m.in.opt.Channel == nil {
		after := ""
		if m.from > 0 {
			after = fmt.Sprintf(" after about %d s", m.from/int64(m.in.Format.SampleRate))
		}
		m.noted = true
		m.in.opt.note("its %d channels cancel%s: their mean, which is read, has %.2g %% of their power; --channel N reads one, --channel=-1 confirms the mean",
			len(m.power), after, 100*mean/power)
	}
	m.from, m.meanFrom, m.eachFrom = m.frames, m.mean, each
}

// each returns the sum of the power of every channel.
func (m *mono) each() (sum float64) {
	for _, p := range m.power {
		sum += p
	}
	return sum
}

// compare adds a note if a channel has little in common with the first one, because the mean may
// then be useless. Its correlation is 2·Σxy/(Σx²+Σy²), so that a silent channel differs, too.
func (m *mono) compare() {
	if m.each() == 0 || m.in.opt.Channel != nil || m.noted {
		return
	}
	m.noted = true
	other, rho := 0, 1.0
	for k, p := range m.power {
		if r := 2 * m.first[k] / (p + m.power[0]); r < rho {
			other, rho = k, r
		}
	}
	if rho < differ {
		m.in.opt.note("its %d channels differ (correlation of 0 and %d: %.2f); their mean is read, --channel N reads one, --channel=-1 confirms the mean", len(m.power), other, math.Max(rho, -1))
	}
}
