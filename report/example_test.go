package report_test

import (
	"encoding/json"
	"log"
	"os"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/report"
)

// A service that resamples audio of 16 kHz to the 8 kHz of its model prints an event in samples of
// the audio that it received.
func ExampleNewEvent() {
	found := events.Event{Onset: 4000, End: 8000, Label: "7", Confidence: 0.98}
	line := report.NewEvent(found, func(n int64) int64 { return 2 * n })
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		log.Fatal(err)
	}
	// Output: {"type":"event","onset":8000,"end":16000,"label":"7","confidence":0.98}
}
