package audio

// Mono returns a Source of the mean of r's channels, one sample per frame.
func Mono(r *WAVReader) Source {
	if r.Format.Channels == 1 {
		return r
	}
	frames := max(blockLen/r.Format.Channels, 1)
	return &mono{r, make([]float32, frames*r.Format.Channels)}
}

type mono struct {
	in  *WAVReader
	buf []float32 // whole frames
}

// Read implements Source.
func (m *mono) Read(dst []float32) (n int, err error) {
	channels := m.in.Format.Channels
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
