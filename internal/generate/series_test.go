package generate

import (
	"bytes"
	"context"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"gonum.org/v1/gonum/stat"
)

// The generated series has the stated columns, seasons, trend and number of anomalies.
func TestSeries(t *testing.T) {
	path := filepath.Join(t.TempDir(), "load.csv")
	must.Do(t, Series(context.Background(), path, 200, 7))
	lines := must.Get(csv.NewReader(bytes.NewReader(must.Get(os.ReadFile(path))(t))).ReadAll())(t)
	must.Equal(t, strings.Join(lines[0], " "), "time temperature load anomaly", "columns")
	must.Equal(t, len(lines)-1, seriesHours, "hours")
	var load, anomaly []float64
	for _, line := range lines[1:] {
		load = append(load, must.Get(strconv.ParseFloat(line[2], 64))(t))
		anomaly = append(anomaly, must.Get(strconv.ParseFloat(line[3], 64))(t))
	}
	// correlation returns that of the load with itself some hours before.
	correlation := func(lag int) float64 {
		mean, variance := stat.PopMeanVariance(load, nil)
		sum := 0.0
		for h := lag; h < len(load); h++ {
			sum += (load[h] - mean) * (load[h-lag] - mean)
		}
		return sum / (variance * float64(len(load)))
	}
	if week, day, off := correlation(168), correlation(24), correlation(84); !(week > day+0.02 && day > off+0.3) {
		t.Errorf("correlation after a week %.3f, a day %.3f, 3.5 days %.3f; expected this order", week, day, off)
	}
	year := func(from int) (mean float64) {
		for _, v := range load[from : from+8736] {
			mean += v / 8736
		}
		return mean
	}
	if rise := year(8760) - year(0); math.Abs(rise-50) > 15 {
		t.Errorf("the load rises by %.1f in a year, expected about 50", rise)
	}
	events := 0
	for h := 1; h < len(anomaly); h++ {
		if anomaly[h] > anomaly[h-1] {
			events++
		}
	}
	must.Equal(t, events, 200, "anomalies")

	first := must.Get(os.ReadFile(path))(t)
	must.Do(t, Series(context.Background(), path, 200, 7))
	must.Equal(t, string(must.Get(os.ReadFile(path))(t)) == string(first), true, "the same file for the same seed")
	must.Do(t, Series(context.Background(), path, 0, 8))
	if text := string(must.Get(os.ReadFile(path))(t)); !strings.HasPrefix(text, "time,temperature,load\n2024-01-01 00:00,") || strings.Count(text, "\n") != seriesHours+1 {
		t.Errorf("a series without anomalies:\n%.200s", text)
	}
}
