package report_test

import (
	"encoding/json"
	"log"
	"os"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/report"
)

// A service prints an event in samples of the audio that it received.
func ExampleNewEvent() {
	found := events.Event{Onset: 4000, End: 8000, Label: "7", Confidence: 0.98}
	line := report.NewEvent(found)
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		log.Fatal(err)
	}
	// Output: {"type":"event","onset":4000,"end":8000,"label":"7","confidence":0.98}
}
