// Command minimal prints the spoken digits in a sound file: WAV, FLAC, MP3 or Ogg Vorbis.
//
//	go run ./examples/minimal clip.wav
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/s4d-fast/s4d-fast/audio"
	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/pretrained"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: minimal FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "minimal:", err)
		os.Exit(1)
	}
}

// run writes one line per digit: its onset and end in seconds, the digit, and its probability.
func run(path string, w io.Writer) error {
	m, err := pretrained.Load("digits")
	if err != nil {
		return err
	}
	recognizer, err := events.New(m, events.DefaultsFor(m))
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	in, err := audio.Open(file)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	found, err := recognizer.Detect(in)
	rate := float64(in.Format.SampleRate)
	for _, e := range found { // if there is an error, the events before it
		onset, end := float64(e.Onset)/rate, float64(e.End)/rate
		if _, err := fmt.Fprintf(w, "%6.2f s to %6.2f s  %s  (%.3f)\n", onset, end, e.Label, e.Confidence); err != nil {
			return err
		}
	}
	return err
}
