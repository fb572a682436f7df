package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/s4d-fast/s4d-fast/ssm"
)

// shownSSM are the keys of the ssm section that optionsText omits. inspect prints some of them in
// words. The others describe the initial values, which training has changed.
var shownSSM = map[string]bool{
	"-": true, "init": true, "disc": true, "d_state": true, "bidirectional": true, "l_max": true,
	"a_real": true, "r_min": true, "r_max": true, "max_phase": true, "c_init": true, "dt_min": true, "dt_max": true, "xi_min": true, "xi_max": true,
}

// defaultSSM are the values that "" stands for.
var defaultSSM = map[string]any{"layer": ssm.LayerS4D, "param": ssm.ParamContinuous, "rate_rule": ssm.RateExact}

// optionsText lists the other keys of the ssm section whose values are not the defaults, as
// ", KEY=VALUE" each.
func optionsText(c ssm.Config) string {
	var text strings.Builder
	v := reflect.ValueOf(c)
	for field := range v.Type().Fields() {
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		value := v.FieldByIndex(field.Index)
		if !shownSSM[key] && !value.IsZero() && value.Interface() != defaultSSM[key] {
			fmt.Fprintf(&text, ", %s=%v", key, value)
		}
	}
	return text.String()
}

// printDetector prints what only a word detector has: the number of recordings that trained it, its
// operating point and its measured errors.
func (i inspection) printDetector(row func(key, format string, args ...any)) {
	if i.Recordings > 0 {
		row("trained on", "%d recordings, by their fingerprints", i.Recordings)
	}
	d := i.Meta.Detection
	if d == nil {
		return
	}
	row("detection", "threshold %g, off-threshold %g, confirm %d, refractory %g s, smoothing %g s", d.Threshold, d.OffThreshold, d.Confirm, d.Refractory, d.Smoothing)
	if offsets := d.Offsets; len(offsets) > 0 && i.Meta.Filterbank != nil {
		row("by label", "threshold %s", thresholdsText(i.Meta.Labels, offsets, d.Threshold))
	}
	if d.Measured() {
		row("measured", "miss rate %.3f (95 %% interval %.3f … %.3f) of %d words, %.3g false alarms per hour in the worst background (%.3g hours)",
			d.MissRate, d.Interval[0], d.Interval[1], d.Words, d.FalseAlarmsPerHour, d.BackgroundHours)
	} else {
		row("measured", "no error rates for this network; run s4d-fast calibrate")
	}
}
