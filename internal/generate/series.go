package generate

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/random"
)

// seriesHours is the length of the series: two years.
const seriesHours = 2 * 365 * 24

// Series writes an artificial series in CSV to a file: the hourly load of a small power grid
// from 1 January 2024, with the columns time, temperature (°C) and load (MW). The load has a daily
// and a weekly season, a trend, an effect of the temperature and autocorrelated noise
// (docs/maths.md §5.9). If anomalies is not 0, the load has that number of anomalies, and the
// column anomaly is 1 in their hours and 0 otherwise. The file is a function of seed and anomalies.
func Series(ctx context.Context, path string, anomalies int, seed uint64) error {
	return atomicfile.Write(path, 0o666, func(f io.Writer) error {
		w := bufio.NewWriter(f)
		g := loadSeries{
			noise: random.New(seed, random.Signal, 0, 0), draws: random.New(seed, random.Signal, 1, 0),
			anomalies: anomalies, every: seriesHours / max(anomalies, 1),
		}
		if fmt.Fprint(w, "time,temperature,load"); anomalies > 0 {
			fmt.Fprint(w, ",anomaly")
		}
		for h := range seriesHours {
			temperature, load, anomaly := g.next()
			at := time.Unix(firstHour+int64(h)*3600, 0).UTC().Format("2006-01-02 15:04")
			fmt.Fprintf(w, "\n%s,%.2f,%.2f", at, temperature, load)
			if anomalies > 0 {
				fmt.Fprintf(w, ",%d", anomaly)
			}
			if h%8760 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
		}
		fmt.Fprintln(w)
		return w.Flush()
	})
}

const (
	firstHour    = 1704067200 // 1 January 2024, a Monday, in Unix time
	anomalyHours = 6          // of the longest anomaly
)

// loadSeries generates the series hour by hour.
type loadSeries struct {
	noise, draws   random.Stream
	anomalies      int
	every          int // hours per anomaly
	hour           int
	weather, drift float64 // autoregressive deviations of temperature and load
	stuck          float64 // load of the hour before the anomaly
}

// next returns the next hour.
func (g *loadSeries) next() (temperature, load float64, anomaly int) {
	h := g.hour
	g.hour++
	a, b := g.noise.NormalPair(2 * uint64(h))
	g.weather = 0.98*g.weather + 0.8*a
	g.drift = 0.9*g.drift + 6*b
	day, year := 2*math.Pi*float64(h)/24, 2*math.Pi*float64(h)/8766
	temperature = 10 - 9*math.Cos(year-0.35) - 4*math.Cos(day-0.9) + g.weather

	profile := 110*math.Sin(day-2.1) + 45*math.Sin(2*day-0.6) + 15*math.Sin(3*day)
	if weekday := h / 24 % 7; weekday >= 5 {
		profile = 0.55*profile - 70
	}
	cold := max(15-temperature, 0) + max(temperature-24, 0)
	load = 600 + 50*float64(h)/8766 + profile + 5*cold + g.drift
	return temperature, g.disturb(h, load, &anomaly), anomaly
}

// disturb changes the load in the hours of an anomaly: a jump up or down, or a value that stays.
func (g *loadSeries) disturb(h int, load float64, anomaly *int) float64 {
	if h/g.every >= g.anomalies {
		return load
	}
	n := uint64(h / g.every)
	start := 1 + int(g.draws.Float64(3*n)*float64(g.every-anomalyHours))
	kind := int(3 * g.draws.Float64(3*n+1))
	length := 1 + int(anomalyHours*g.draws.Float64(3*n+2))
	at := h%g.every - start
	if at < 0 || at >= length {
		g.stuck = load
		return load
	}
	*anomaly = 1
	switch kind {
	case 0:
		return load + 120
	case 1:
		return load - 120
	}
	return g.stuck
}
