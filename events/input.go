package events

// input cuts audio into frames and keeps the last ones.
type input struct {
	position int64     // samples in complete frames
	partial  []float32 // the samples of an incomplete frame
	past     []float32 // the last frames
}

func newInput(r *Recognizer) input {
	return input{partial: make([]float32, 0, r.frame), past: make([]float32, 0, r.pastLen())}
}

// Position returns the number of samples since the stream's beginning.
func (in *input) Position() int64 { return in.position + int64(len(in.partial)) }

// restart begins another signal at a position. It discards the samples of the last one.
func (in *input) restart(position int64) {
	in.position, in.partial, in.past = position, in.partial[:0], in.past[:0]
}

// next moves samples from x to the incomplete frame. It returns the frame once it is complete,
// valid until the next call, and the samples that are left. A sample that is not audio becomes 0.
// So does one whose square would be a denormal number, with which processors compute slowly.
func (in *input) next(x []float32) (frame, rest []float32) {
	n := min(len(x), cap(in.partial)-len(in.partial))
	for _, v := range x[:n] {
		if !isAudio(v) || v > -inaudible && v < inaudible {
			v = 0
		}
		in.partial = append(in.partial, v)
	}
	if len(in.partial) < cap(in.partial) {
		return nil, nil
	}
	frame = in.partial
	in.position += int64(len(frame))
	in.partial = frame[:0]
	return frame, x[n:]
}

// remember appends a frame to past, in place of the oldest.
func (in *input) remember(x []float32) {
	if len(in.past)+len(x) > cap(in.past) {
		in.past = in.past[:copy(in.past, in.past[len(x):])]
	}
	in.past = append(in.past, x...)
}
