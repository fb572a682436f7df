package audio

// ResampleReader is a Source that delivers the samples of another Source at a new rate. Near full
// scale they may exceed [−1, 1) a little, as the band-limited signal does between its samples.
type ResampleReader struct {
	blocks
	src Source
	r   *Resampler
	in  []float32
	out []float32 // completed outputs
}

// NewResampleReader returns a reader that converts src, one channel at rate from, to rate to, both
// in Hz. It takes no more from src than the outputs need. An error of src, io.EOF or another, comes
// after all outputs of the samples before it. An infinite output is an error: the samples of src
// are too large.
func NewResampleReader(src Source, from, to int) (*ResampleReader, error) {
	r, err := NewResampler(from, to)
	if err != nil {
		return nil, err
	}
	most := (blockLen+r.ahead)*r.to/r.from + 1 // outputs of a block and a flush
	s := &ResampleReader{src: src, r: r, in: make([]float32, blockLen), out: make([]float32, 0, most)}
	s.blocks = blocks{name: "converted", next: s.next}
	return s, nil
}

// next reads inputs for n more outputs.
func (r *ResampleReader) next(n int) ([]float32, error) {
	inputs := min(r.r.inputsFor(min(n, blockLen)), len(r.in))
	k, err := r.src.Read(r.in[:inputs])
	out := r.r.Process(r.out[:0], r.in[:k])
	if err != nil {
		out = r.r.Flush(out)
	}
	return out, err
}
