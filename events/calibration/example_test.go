package calibration_test

import (
	"context"
	"fmt"
	"log"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/events/calibration"
	"github.com/s4d-fast/s4d-fast/pretrained"
)

// A program chooses the operating point of a model for clips of words and a recording of a room.
func Example() {
	ctx := context.Background()
	m, err := pretrained.Load("digits")
	if err != nil {
		log.Fatal(err)
	}
	clips, _, _, err := calibration.Clips("words", m.Meta.Labels, nil) // words/7/anna.wav …
	if err != nil {
		log.Fatal(err)
	}
	words, _, err := calibration.WordStreams(ctx, clips, calibration.DefaultWords(m.Meta.SampleRate))
	if err != nil {
		log.Fatal(err)
	}
	room, _, err := calibration.BackgroundStreams("evening.flac", m.Meta.SampleRate, false, audio.Options{})
	if err != nil {
		log.Fatal(err)
	}
	measured, err := calibration.Measure(ctx, m, append(words, room...), calibration.Defaults(events.DefaultsFor(m)))
	if err != nil {
		log.Fatal(err)
	}
	best, ok := measured.Best(0.5) // false alarms per hour
	if !ok {
		log.Fatal("every operating point has more false alarms")
	}
	missed, low, high := best.MissRate()
	fmt.Printf("threshold %g: %.1f %% of the words are missed (%.1f to %.1f %%)\n", best.Options.Threshold, 100*missed, 100*low, 100*high)
	m.Meta.Detection = best.Detection() // events.DefaultsFor(m) returns it
	if err := m.Save("digits-here.safetensors"); err != nil {
		log.Fatal(err)
	}
}
