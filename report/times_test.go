package report

import (
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Quantiles are at least the true ones, and at most a bin larger.
func TestTimes(t *testing.T) {
	var times Times
	must.Equal(t, times.Quantiles(), Quantiles{}, "quantiles without durations")
	for i := range 1000 {
		times.Add(time.Duration(i+1) * time.Microsecond)
	}
	got := times.Quantiles()
	for _, q := range []struct{ got, want float64 }{{got.P50, 500e-6}, {got.P99, 990e-6}} {
		if q.got < q.want || q.got > 1.045*q.want {
			t.Errorf("quantile %v, expected %v or 4.5 %% more", q.got, q.want)
		}
	}
	must.Equal(t, got.Max, 1000e-6, "max")
	times.Add(time.Hour) // beyond the last bin
	must.Equal(t, times.Quantiles().Max, 3600, "max")
}
