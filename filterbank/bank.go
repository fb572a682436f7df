package filterbank

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/s4d-fast/s4d-fast/fftkernel"
	"github.com/s4d-fast/s4d-fast/internal/vek"
)

// Bank holds the tables of a Config. It is immutable; any number of Streams share it.
type Bank struct {
	cfg    Config
	fft    *fftkernel.FFT
	window []float32 // [Window]
	bands  []band
	keep   float64 // PCEN: the factor of the smoothed energy from frame to frame
}

// band is a filter: the sum of the weighted powers at positions of the transform.
type band struct {
	at     []int32
	weight []float32
}

// New returns the Bank of a Config. It also returns an error if S4D_LEVEL names a level that is not
// available.
func New(c Config) (*Bank, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	n := c.transformLen()
	fft, err := fftkernel.NewFFT(n)
	if err != nil {
		return nil, fmt.Errorf("filterbank: %w", err)
	}
	b := &Bank{cfg: c, fft: fft, keep: math.Exp(-1 / (pcenSeconds * c.FrameRate()))}
	squares := 0.0
	for i := range c.Window {
		w := 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/float64(c.Window))
		squares += w * w
		b.window = append(b.window, float32(w))
	}
	position := make([]int32, n)
	for p, k := range fft.Order() {
		position[k] = int32(p)
	}
	// The factor 2 is for the two sides of the spectrum. The power of all bins is then the mean
	// square of the frame.
	scale := 2 / (float64(n) * squares)
	for i := range c.Bands {
		var f band
		first, end := c.bins(i)
		for k := first; k < end; k++ {
			f.at = append(f.at, position[k])
			f.weight = append(f.weight, float32(scale*c.weight(i, k)))
		}
		b.bands = append(b.bands, f)
	}
	return b, nil
}

// Frames returns the complete frames of a whole signal, [Bands][Config.Frames(len(x))]. It reuses
// the memory of dst, which may be nil.
func (b *Bank) Frames(dst, x []float32) []float32 {
	n := b.cfg.Frames(len(x))
	dst = slices.Grow(dst[:0], n*b.cfg.Bands)[:n*b.cfg.Bands]
	s, frame := b.NewStream(), make([]float32, 0, b.cfg.Bands)
	for k := range n {
		frame = s.Process(frame[:0], x[k*b.cfg.Hop:(k+1)*b.cfg.Hop])
		for i, v := range frame {
			dst[i*n+k] = v
		}
	}
	return dst
}

// Stream computes the frames of one signal. It belongs to one goroutine at a time.
type Stream struct {
	bank   *Bank
	in     []float32 // the samples that later frames need, possibly after earlier ones
	next   int       // index in in at which the next frame begins
	re, im []float32 // of the transform
	smooth []float64 // PCEN: [Bands] smoothed energies, −1 before the first frame
}

// NewStream returns a Stream at the start of a signal.
func (b *Bank) NewStream() *Stream {
	s := &Stream{bank: b, in: make([]float32, 0, 2*b.cfg.Window), re: make([]float32, b.fft.Len()), im: make([]float32, b.fft.Len())}
	if b.cfg.Compression == PCEN {
		s.smooth = make([]float64, b.cfg.Bands)
	}
	s.Reset()
	return s
}

// StreamBytes returns the memory of a Stream in bytes.
func (b *Bank) StreamBytes() int {
	n := int(unsafe.Sizeof(Stream{})) + 4*(2*b.cfg.Window+2*b.fft.Len())
	if b.cfg.Compression == PCEN {
		n += 8 * b.cfg.Bands
	}
	return n
}

// Reset begins a new signal.
func (s *Stream) Reset() {
	s.in, s.next = s.in[:s.bank.cfg.Window-s.bank.cfg.Hop], 0
	clear(s.in)
	for i := range s.smooth {
		s.smooth[i] = -1
	}
}

// Process takes the next samples, of full scale ±1, and appends the frames that they complete to
// dst, one after the other: [frames][Bands]. dst must not overlap x. Process allocates only if dst
// is too short. The samples must be finite: a NaN or infinite sample makes the frames that cover it
// NaN and, with PCEN, all later frames.
func (s *Stream) Process(dst, x []float32) []float32 {
	c := &s.bank.cfg
	for len(x) > 0 {
		if len(s.in) == cap(s.in) {
			s.in = append(s.in[:0], s.in[s.next:]...)
			s.next = 0
		}
		n := min(len(x), cap(s.in)-len(s.in))
		s.in = append(s.in, x[:n]...)
		x = x[n:]
		for ; s.next+c.Window <= len(s.in); s.next += c.Hop {
			dst = s.appendFrame(dst, s.in[s.next:s.next+c.Window])
		}
	}
	return dst
}

// appendFrame appends the frame of a window.
func (s *Stream) appendFrame(dst, x []float32) []float32 {
	b := s.bank
	power := s.re[:len(x)]
	vek.ScaleShift(power, x, 1, -vek.Sum(x)/float32(len(x)))
	vek.Mul(power, power, b.window)
	clear(s.re[len(x):])
	clear(s.im)
	b.fft.Coefficients(s.re, s.im)
	vek.Mul(s.re, s.re, s.re)
	vek.Mul(s.im, s.im, s.im)
	vek.Add(s.re, s.re, s.im)
	for i := range b.bands {
		f, sum := &b.bands[i], float32(0)
		for j, at := range f.at {
			sum += float32(f.weight[j] * s.re[at])
		}
		dst = append(dst, s.compress(i, float64(sum)))
	}
	return dst
}

// The constants of PCEN (docs/maths.md §11.3).
const (
	pcenSeconds = 0.4     // time constant of the smoothing
	pcenDelta   = 0.1     // ratio to the smoothed energy below which the compression is linear
	smoothMin   = 0x1p-99 // smaller smoothed energies are 0: denormal numbers are slow
)

// compress returns the compressed energy of a band and updates its smoothed energy.
func (s *Stream) compress(band int, energy float64) float32 {
	if s.smooth == nil {
		return float32(math.Log(energy + Floor))
	}
	m := s.smooth[band]
	if m < 0 {
		m = energy
	}
	m = energy + float64(s.bank.keep*(m-energy))
	if m < smoothMin {
		m = 0
	}
	s.smooth[band] = m
	return float32(math.Log1p(energy / (pcenDelta * (m + Floor))))
}
