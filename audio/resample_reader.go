package audio

import "fmt"

// ResampleReader is a Source that delivers the samples of another Source at a new rate. Near full
// scale they may exceed [−1, 1) a little, as the band-limited signal does between its samples.
type ResampleReader struct {
	src     Source
	r       *Resampler
	in      []float32
	out     []float32 // completed outputs
	pending []float32 // the part of out that has not been delivered
	err     error     // of the source, returned after the last output
}

// NewResampleReader returns a reader that converts src, one channel at rate from, to rate to, both
// in Hz.
func NewResampleReader(src Source, from, to int) (*ResampleReader, error) {
	r, err := NewResampler(from, to)
	if err != nil {
		return nil, err
	}
	return &ResampleReader{src: src, r: r, in: make([]float32, blockLen), out: make([]float32, 0, r.maxOutputs(blockLen))}, nil
}

// Read implements Source. It takes no more from the source than dst needs. The source's error,
// io.EOF or another, comes after all outputs of the samples before it. An infinite output is an
// error: the samples of the source are too large.
func (r *ResampleReader) Read(dst []float32) (int, error) {
	n := 0
	for {
		k := copy(dst[n:], r.pending)
		r.pending = r.pending[k:]
		n += k
		if n == len(dst) {
			return n, nil
		}
		if r.err != nil {
			return n, r.err
		}
		r.fill(len(dst) - n)
	}
}

// fill reads inputs for n more outputs. All pending outputs have been delivered.
func (r *ResampleReader) fill(n int) {
	inputs := min(r.r.inputsFor(min(n, blockLen)), len(r.in))
	k, err := r.src.Read(r.in[:inputs])
	r.pending = r.r.Process(r.out[:0], r.in[:k])
	if err != nil {
		r.pending, r.err = r.r.Flush(r.pending), err
	}
	if i := notFinite(r.pending); i < len(r.pending) {
		r.err = fmt.Errorf("audio: a sample at the new rate is %v: the samples are too large to be converted", r.pending[i])
		r.pending = r.pending[:i]
	}
}
