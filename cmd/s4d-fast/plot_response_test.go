package main

import (
	"math"
	"slices"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// The vertical range of an unbounded response lies around its median, because the peaks depend on
// the samples. A bounded response is shown with its whole peak.
func TestResponseRange(t *testing.T) {
	both := must.Get((&plotResponseCmd{Step: 0.001, Modes: 10}).panel(ssm.DFouT))(t)
	free, damped := both.Curves[0].Y, both.Curves[1].Y
	top := slices.Max(damped)
	if both.YMax > 1.05*top+25 || both.YMax < top {
		t.Errorf("range up to %v dB, expected %v to %v", both.YMax, top, 1.05*top+25)
	}
	if least := slices.Min(damped); both.YMin > least {
		t.Errorf("range from %v dB, expected at most %v", both.YMin, least)
	}
	if peak := slices.Max(free); peak <= top {
		t.Errorf("undamped peak %v dB, expected more than the damped %v", peak, top)
	}
	_, a, err := (&plotResponseCmd{Step: 0.001, Modes: 10}).draw(ssm.DFouT, 0.5)
	must.Do(t, err)
	if peak := 20 * math.Log10(a.HInf(0).Gain); math.Abs(top-peak) > 0.01 {
		t.Errorf("the curve's peak is %v dB, H∞ %v dB", top, peak)
	}
}
