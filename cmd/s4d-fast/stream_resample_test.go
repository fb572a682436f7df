package main

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/reporttest"
	"github.com/s4d-fast/s4d-fast/report"
)

// The end line counts the samples of the input, also where the last sample of the resampled audio
// is after its end. No frame is after it.
func TestResampledLength(t *testing.T) {
	for _, rate := range []int{16000, 44100, 1_000_000} {
		for _, n := range []int{1, 7, 2001, 16001} {
			code, stdout, stderr := invoke(bytes.NewReader(make([]byte, 2*n)),
				"stream", "digits", "--format", "s16le", "--rate", fmt.Sprint(rate), "--resample", "--emit", "frames")
			must.Equal(t, code, exitOK, "exit code; %s", stderr)
			_, end := lines(t, stdout)
			must.Equal(t, end.Samples, int64(n), "samples at %d Hz", rate)
			must.Equal(t, end.Seconds, float64(n)/float64(rate), "seconds of %d samples at %d Hz", n, rate)
			for _, line := range reporttest.Lines(t, stdout) {
				var f report.Frame
				if decode(t, line, &f); f.Sample > int64(n) {
					t.Errorf("%d samples at %d Hz: a frame ends at sample %d", n, rate, f.Sample)
				}
			}
		}
	}
}
