package events_test

import (
	"fmt"
	"log"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/tonemodel"
)

// A stream is processed in pieces, stored in the middle of a word, and continued elsewhere. The
// handmade model recognises two tones; pretrained.Load("digits") recognises digits.
func ExampleRecognizer() {
	m, err := tonemodel.New()
	if err != nil {
		log.Fatal(err)
	}
	recognizer, err := events.New(m, events.Defaults()) // for all streams
	if err != nil {
		log.Fatal(err)
	}
	sound := &tonemodel.Sound{}
	sound.Silence(1)
	sound.Tone("low", 0.4)
	sound.Silence(1)
	sound.Tone("high", 0.6)
	sound.Silence(1)
	print := func(list []events.Event, err error) {
		if err != nil {
			log.Fatal(err)
		}
		for _, e := range list {
			fmt.Printf("%-4s  %.1f … %.1f s, sure: %t\n", e.Label, float64(e.Onset)/recognizer.SampleRate(), float64(e.End)/recognizer.SampleRate(), e.Confidence > 0.9)
		}
	}

	stream, err := recognizer.NewStream(8000) // Hz
	if err != nil {
		log.Fatal(err)
	}
	print(stream.Process(sound.Samples[:22000]))
	snapshot := stream.Snapshot()
	fmt.Println("stored in a word")

	stream, err = recognizer.NewStream(8000) // in another process, perhaps
	if err != nil {
		log.Fatal(err)
	}
	if err := stream.Restore(snapshot); err != nil {
		log.Fatal(err)
	}
	print(stream.Process(sound.Samples[22000:]))
	print(stream.Flush())
	// Output:
	// low   1.0 … 1.4 s, sure: true
	// stored in a word
	// high  2.4 … 3.0 s, sure: true
}
