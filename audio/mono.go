package audio

// Mono returns a Source whose samples are the means of the channels of r.
func Mono(r *Reader) Source {
	if r.Channels() == 1 {
		return r
	}
	return &mono{r, make([]float32, max(blockLen/r.Channels(), 1)*r.Channels())}
}

// MonoAt returns the audio of r as one channel at a sampling rate in Hz.
func (r *Reader) MonoAt(rate int) (Source, error) {
	if r.Format.SampleRate == rate {
		return Mono(r), nil
	}
	return NewResampleReader(Mono(r), r.Format.SampleRate, rate)
}

type mono struct {
	in  *Reader
	buf []float32 // whole frames
}

// Read implements Source.
func (m *mono) Read(dst []float32) (n int, err error) {
	channels := m.in.Channels()
	for n < len(dst) && err == nil {
		var k int
		k, err = m.in.Read(m.buf[:min((len(dst)-n)*channels, len(m.buf))])
		for frame := range k / channels {
			sum := 0.0
			for _, v := range m.buf[frame*channels:][:channels] {
				sum += float64(v)
			}
			dst[n] = float32(sum / float64(channels))
			n++
		}
	}
	return n, err
}
