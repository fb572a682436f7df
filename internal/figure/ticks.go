package figure

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// ticks places about this many ticks on a linear axis, at multiples of 1, 2 or 5 times a power of
// ten. Axes of equal length get the same spacing.
type ticks int

// Ticks implements plot.Ticker.
func (n ticks) Ticks(lo, hi float64) []plot.Tick {
	step := roundStep((hi - lo) / float64(n))
	if !(step > closest*max(math.Abs(lo), math.Abs(hi))) { // or NaN
		return nil
	}
	var list []plot.Tick
	for i := math.Ceil(lo / step); i*step <= hi; i++ {
		list = append(list, plot.Tick{Value: i * step, Label: number(i*step + 0)})
	}
	return list
}

// closest is the least distance of ticks, relative to the values on their axis. The numbers of
// closer ones would exceed 2⁵³, above which adding 1 has no effect.
const closest = 1e-14

// roundStep returns 1, 2 or 5 times a power of ten, close to v; NaN unless v is positive and
// finite.
func roundStep(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 1) {
		return math.NaN()
	}
	step := math.Pow(10, math.Floor(math.Log10(v)))
	switch r := v / step; {
	case r >= 7:
		step *= 10
	case r >= 3.5:
		step *= 5
	case r >= 1.5:
		step *= 2
	}
	return step
}

// logTicks places about this many ticks on an axis that holds decades: at powers of ten on a long
// axis, also at their multiples by 2 and 5 on a shorter one, and as on a linear axis on one shorter
// than that.
type logTicks int

// Ticks implements plot.Ticker.
func (n logTicks) Ticks(lo, hi float64) []plot.Tick {
	if !(hi > lo) || hi-lo > 600 { // the range of float64
		return nil
	}
	if hi-lo < math.Log10(5) {
		list := ticks(n).Ticks(math.Pow(10, lo), math.Pow(10, hi))
		for i := range list {
			list[i].Value = math.Log10(list[i].Value)
		}
		return list
	}
	first, last := int(math.Floor(lo)), int(math.Floor(hi))
	every := 1 + (last-first)/(2*int(n)) // decades from label to label
	var list []plot.Tick
	for decade := first; decade <= last; decade++ {
		for digit := 1; digit < 10; digit++ {
			t := plot.Tick{Value: float64(decade) + math.Log10(float64(digit))}
			if t.Value < lo || t.Value > hi {
				continue
			}
			if digit == 1 && decade%every == 0 || hi-lo < 3 && (digit == 2 || digit == 5) {
				t.Label = number(float64(digit) * math.Pow(10, float64(decade)))
			}
			list = append(list, t)
		}
	}
	return list
}

// frequencyTicks places ticks on an axis of angular frequencies in radians per sample. Its value is
// the sampling rate in Hz: the labels are in Hz, or fractions of π if it is 0.
type frequencyTicks float64

// Ticks implements plot.Ticker.
func (rate frequencyTicks) Ticks(lo, hi float64) (list []plot.Tick) {
	if rate > 0 {
		hertz := float64(rate) / (2 * math.Pi)
		list = ticks(8).Ticks(lo*hertz, hi*hertz)
		for i := range list {
			list[i].Value /= hertz
		}
		return list
	}
	for i, label := range []string{"0", "", "π/4", "", "π/2", "", "3π/4", "", "π"} {
		if v := math.Pi * float64(i) / 8; v >= lo && v <= hi {
			list = append(list, plot.Tick{Value: v, Label: label})
		}
	}
	return list
}

// label returns the label of a tick at a fraction of π: in Hz with its unit, or the fraction.
func (rate frequencyTicks) label(t plot.Tick) string {
	switch hertz := float64(rate) * t.Value / (2 * math.Pi); {
	case hertz >= 999.5: // the next case would round it to 1e+03
		return fmt.Sprintf("%.3g kHz", hertz/1000)
	case rate > 0:
		return fmt.Sprintf("%.3g Hz", hertz)
	}
	return t.Label
}

// title returns the title of the axis.
func (rate frequencyTicks) title() string {
	if rate > 0 {
		return "frequency [Hz]"
	}
	return "angular frequency [rad per sample]"
}

// markTicks places ticks at the marks of a panel, so that the lines there have a label.
type markTicks []float64

// Ticks implements plot.Ticker.
func (marks markTicks) Ticks(lo, hi float64) (list []plot.Tick) {
	for _, v := range append([]float64{0}, marks...) {
		if v >= lo && v <= hi {
			list = append(list, plot.Tick{Value: v, Label: number(v)})
		}
	}
	return list
}

// number formats a value with at most six digits, and its exponent without a plus sign and leading
// zeros.
func number(v float64) string {
	s := strconv.FormatFloat(v, 'g', 6, 64)
	return strings.NewReplacer("e+0", "e", "e+", "e", "e-0", "e-").Replace(s)
}
