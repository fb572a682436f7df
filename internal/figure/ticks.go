package figure

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// ticks places about this many ticks on a linear axis, at multiples of 1, 2 or 5 times a power of
// ten. (plot.DefaultTicks places about three on an axis of any length.)
type ticks int

// Ticks implements plot.Ticker.
func (n ticks) Ticks(lo, hi float64) (list []plot.Tick) {
	v := (hi - lo) / float64(n)
	step := math.Pow(10, math.Floor(math.Log10(v)))
	switch r := v / step; {
	case r >= 7:
		step *= 10
	case r >= 3.5:
		step *= 5
	case r >= 1.5:
		step *= 2
	}
	for i := math.Ceil(lo / step); i*step <= hi; i++ {
		list = append(list, plot.Tick{Value: i * step, Label: number(i*step + 0)})
	}
	return list
}

// logTicks places about this many ticks on an axis that holds decades: at powers of ten on a long
// axis, also at their multiples by 2 and 5 on a shorter one, and as on a linear axis on one shorter
// than that. (plot.LogTicks has no label between two powers of ten.)
type logTicks int

// Ticks implements plot.Ticker.
func (n logTicks) Ticks(lo, hi float64) (list []plot.Tick) {
	if hi-lo < math.Log10(5) {
		list = ticks(n).Ticks(math.Pow(10, lo), math.Pow(10, hi))
		for i := range list {
			list[i].Value = math.Log10(list[i].Value)
		}
		return list
	}
	first, last := int(math.Floor(lo)), int(math.Floor(hi))
	every := 1 + (last-first)/(2*int(n)) // decades from label to label
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
		list = append(list, plot.Tick{Value: math.Pi * float64(i) / 8, Label: label})
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

// number formats a value with at most six digits, and its exponent without a plus sign and leading
// zeros.
func number(v float64) string {
	s := strconv.FormatFloat(v, 'g', 6, 64)
	return strings.NewReplacer("e+0", "e", "e+", "e", "e-0", "e-").Replace(s)
}
