// Package resample converts audio from one sampling rate to another without letting frequencies fold.
//
// In go float32 samples of one channel in chunks of any size, out come those of the band-limited signal at the new
// rate: output k is its value at the time k/to, so that nothing is shifted. The converter is a windowed sinc in
// polyphase form (Crochiere and Rabiner, "Multirate Digital Signal Processing", 1983, §2.3): it passes what is
// below 0.9 of the lower rate's Nyquist frequency unchanged and stops everything above that frequency. The outputs
// depend on the inputs alone, never on how they were cut into chunks, and positions are whole numbers that do not
// grow: a stream may last for ever.
package audio

import (
	"fmt"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

const (
	maxRate  = 1_000_000 // Hz
	maxTable = 8 << 20   // bytes

	blockLen = 1024 // inputs taken between two moves of the window's past
)

// Resampler is the state of one conversion. It belongs to one goroutine at a time.
type Resampler struct {
	from, to int       // the rates' ratio, reduced
	width    int       // taps of one phase, and inputs of one window
	ahead    int       // how many of the window's inputs are later than the output's time
	taps     []float32 // [to][width]: phase p is the filter for outputs p/to of a sample after an input

	in     []float32 // inputs, from before the next output's window on
	window int       // index in in where the next output's window begins
	phase  int       // of the next output
}

// NewResampler returns a converter between two rates in Hz, each at most a million. Its table has a filter for each of
// to/gcd(from, to) phases; rates with so little in common that it would exceed 8 MiB are refused.
func NewResampler(from, to int) (*Resampler, error) {
	if from < 1 || to < 1 || from > maxRate || to > maxRate {
		return nil, fmt.Errorf("audio: %d Hz to %d Hz: rates are between 1 and %d Hz", from, to, maxRate)
	}
	if err := vek.StartupErr(); err != nil {
		return nil, fmt.Errorf("audio: %w", err)
	}
	g := gcd(from, to)
	r := &Resampler{from: from / g, to: to / g}
	r.ahead = reach(r.from, r.to)
	r.width = max(2*r.ahead, 1)
	if size := 4 * int64(r.to) * int64(r.width); size > maxTable {
		return nil, fmt.Errorf("audio: %d Hz to %d Hz is the ratio %d/%d, whose filters take %d MB: want rates with a larger common divisor",
			from, to, r.to, r.from, size/1e6)
	}
	r.taps = filters(r.from, r.to)
	r.in = make([]float32, 0, 2*r.width+blockLen)
	r.begin()
	return r, nil
}

// begin puts silence before the first input.
func (r *Resampler) begin() {
	r.in = r.in[:r.width-1-r.ahead]
	clear(r.in)
	r.window, r.phase = 0, 0
}

// Delay returns how many inputs after the one at (or last before) its time an output waits for: the time that
// a live stream lags behind.
func (r *Resampler) Delay() int { return r.ahead }

// Process takes the next inputs and appends the outputs that they settle to dst, which must not share memory with x.
// It allocates only where dst has no room.
func (r *Resampler) Process(dst, x []float32) []float32 {
	for len(x) > 0 {
		if len(r.in) == cap(r.in) {
			r.in = append(r.in[:0], r.in[r.window:]...)
			r.window = 0
		}
		n := min(len(x), cap(r.in)-len(r.in))
		r.in = append(r.in, x[:n]...)
		x = x[n:]
		dst = r.settle(dst)
	}
	return dst
}

// settle appends the outputs whose windows are filled.
func (r *Resampler) settle(dst []float32) []float32 {
	for r.window+r.width <= len(r.in) {
		filter := r.taps[r.phase*r.width:][:r.width]
		dst = append(dst, vek.Dot(filter, r.in[r.window:][:r.width]))
		r.phase += r.from
		r.window += r.phase / r.to
		r.phase %= r.to
	}
	return dst
}

// Flush appends the rest of the outputs, as if silence followed: n inputs have then given ⌈n·to/from⌉ outputs, one for
// each time k/to before the end. The next input begins a new signal.
func (r *Resampler) Flush(dst []float32) []float32 {
	var silence [256]float32
	for n := r.ahead; n > 0; n -= len(silence) {
		dst = r.Process(dst, silence[:min(n, len(silence))])
	}
	r.begin()
	return dst
}

// wanted returns how many more inputs settle n more outputs, at least one; n is between 1 and blockLen.
func (r *Resampler) wanted(n int) int {
	last := (int64(r.phase) + int64(n-1)*int64(r.from)) / int64(r.to) // windows from the next output's to the n-th's
	return r.window + int(last) + r.width - len(r.in)
}

// room returns how many outputs n inputs and a flush after them settle at most.
func (r *Resampler) room(n int) int { return (n+r.ahead)*r.to/r.from + 1 }

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
