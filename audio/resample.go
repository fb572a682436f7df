package audio

import (
	"fmt"
	"sync"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

const (
	maxRate  = 1_000_000 // Hz
	maxTable = 8 << 20   // bytes
	maxRatio = 256       // outputs per input

	blockLen = 1024 // inputs between two moves of the past to the front of the buffer
)

// Resampler converts one channel of samples from one sampling rate to another without aliases. It
// belongs to one goroutine at a time.
//
// Output k is the value of the band-limited signal at time k/to, so that the signal is not shifted.
// The filter is a windowed sinc in polyphase form (Crochiere and Rabiner, "Multirate Digital Signal
// Processing", 1983, §2.3). It passes frequencies below 0.9 of the lower rate's Nyquist frequency
// unchanged and stops those above the Nyquist frequency. How the input is cut into chunks changes
// no bit of the output. Counters do not grow with the length of the signal, which may be endless.
type Resampler struct {
	from, to int // the rates' ratio, reduced
	width    int // taps of one phase, and inputs of one window
	ahead    int // inputs of the window that are later than the output
	filters  []float32

	in     []float32 // inputs from the next output's window on, or from before it
	window int       // where in in the next output's window begins
	phase  int       // of the next output
}

// NewResampler returns a converter between two rates in Hz, each at most a million. The new rate is
// at most 256 times the old one: a larger ratio is that of a wrong header. The table has a
// filter for each of to/gcd(from, to) phases; Resamplers of the same ratio share it. Rates whose
// table would exceed 8 MiB are an error. If the rates are equal, the samples do not change.
func NewResampler(from, to int) (*Resampler, error) {
	if from < 1 || to < 1 || from > maxRate || to > maxRate {
		return nil, fmt.Errorf("audio: %d Hz to %d Hz: expected rates of 1 … %d Hz", from, to, maxRate)
	}
	if to > maxRatio*from {
		return nil, fmt.Errorf("audio: %d Hz to %d Hz: expected at most %d times the rate", from, to, maxRatio)
	}
	if err := vek.StartupErr(); err != nil {
		return nil, fmt.Errorf("audio: %w", err)
	}
	g, rest := from, to // the greatest common divisor, by Euclid
	for rest != 0 {
		g, rest = rest, g%rest
	}
	r := &Resampler{from: from / g, to: to / g}
	r.ahead = reach(r.from, r.to)
	r.width = max(2*r.ahead, 1)
	if size := 4 * int64(r.to) * int64(r.width); size > maxTable {
		return nil, fmt.Errorf("audio: %d Hz to %d Hz is the ratio %d/%d, whose filters take %d MB; expected rates with a larger common divisor",
			from, to, r.to, r.from, size/1e6)
	}
	r.filters = sharedFilters(r.from, r.to)
	r.in = make([]float32, 0, 2*r.width+blockLen)
	r.begin()
	return r, nil
}

// banks has the tables of recent ratios, by reduced ratio, because a table takes time and memory.
var banks = struct {
	sync.Mutex
	list map[[2]int][]float32 // [to][width]: phase p filters for outputs that are p/to of a sample after an input
}{}

// maxBanks bounds the number of tables, of at most 8 MiB each.
const maxBanks = 8

// sharedFilters returns the table of a reduced ratio.
func sharedFilters(from, to int) []float32 {
	banks.Lock()
	defer banks.Unlock()
	ratio := [2]int{from, to}
	if banks.list[ratio] == nil {
		if len(banks.list) >= maxBanks || banks.list == nil {
			banks.list = map[[2]int][]float32{}
		}
		banks.list[ratio] = filters(from, to)
	}
	return banks.list[ratio]
}

// begin resets the state to silence before the first input.
func (r *Resampler) begin() {
	r.in = r.in[:r.width-1-r.ahead]
	clear(r.in)
	r.window, r.phase = 0, 0
}

// Process takes the next inputs and appends the outputs that they complete to dst, which must not
// overlap x. It allocates only if dst is too short. The inputs must be finite numbers, as those of
// a Reader are. Sums of inputs near the largest float32 overflow to infinite outputs.
func (r *Resampler) Process(dst, x []float32) []float32 {
	for len(x) > 0 {
		if len(r.in) == cap(r.in) {
			r.in = append(r.in[:0], r.in[r.window:]...)
			r.window = 0
		}
		n := min(len(x), cap(r.in)-len(r.in))
		r.in = append(r.in, x[:n]...)
		x = x[n:]
		dst = r.appendOutputs(dst)
	}
	return dst
}

// appendOutputs appends the outputs whose windows are complete.
func (r *Resampler) appendOutputs(dst []float32) []float32 {
	for r.window+r.width <= len(r.in) {
		filter := r.filters[r.phase*r.width:][:r.width]
		dst = append(dst, vek.Dot(filter, r.in[r.window:][:r.width]))
		r.phase += r.from
		r.window += r.phase / r.to
		r.phase %= r.to
	}
	return dst
}

// Flush appends the remaining outputs, as if silence followed. n inputs have then given
// ⌈n·to/from⌉ outputs, one for each time k/to before the end. The next input begins a new signal.
func (r *Resampler) Flush(dst []float32) []float32 {
	var silence [256]float32
	for n := r.ahead; n > 0; n -= len(silence) {
		dst = r.Process(dst, silence[:min(n, len(silence))])
	}
	r.begin()
	return dst
}

// inputsFor returns the number of inputs, at least one, that complete n more outputs, 1 ≤ n ≤
// blockLen.
func (r *Resampler) inputsFor(n int) int {
	last := (int64(r.phase) + int64(n-1)*int64(r.from)) / int64(r.to)
	return r.window + int(last) + r.width - len(r.in)
}
