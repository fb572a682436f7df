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
	if both.YMax > 1.05*slices.Max(damped)+25 || both.YMax < slices.Max(damped) || both.YMin > slices.Min(damped) || slices.Max(free) <= slices.Max(damped) {
		t.Errorf("range %v … %v, damped %v … %v", both.YMin, both.YMax, slices.Min(damped), slices.Max(damped))
	}
	_, d, err := initialLayer{init: ssm.DFouT, channels: 1, modes: 10, step: 0.001, decay: 0.5}.draw()
	must.Do(t, err)
	copy(d.W, d.BBar)
	if peak := 20 * math.Log10(d.HInf(0).Gain); math.Abs(slices.Max(damped)-peak) > 0.01 {
		t.Errorf("the curve's peak is %v dB, H∞ %v dB", slices.Max(damped), peak)
	}
}
