// Package report has the lines that a stream prints (docs/stream.md): what cmd/s4d-fast and examples/service write, one JSON
// object a line. Times are counts of the input's samples.
package report

import "github.com/s4d-fast/s4d-fast/events"

// Start is the first line.
type Start struct {
	Type            string   `json:"type"`
	Format          string   `json:"format"`
	SampleRate      float64  `json:"rate"`
	ModelSampleRate float64  `json:"model_rate,omitempty"` // where it is another
	Model           string   `json:"model"`
	Task            string   `json:"task,omitempty"`
	Labels          []string `json:"labels,omitempty"`
	Level           string   `json:"level"`
	Emit            string   `json:"emit"`
	Hop             int      `json:"hop,omitempty"`
	Stream          string   `json:"stream,omitempty"`  // a service's: its name
	Samples         *int64   `json:"samples,omitempty"` // a service's: heard before
}

// Event is the line of an event.
type Event struct {
	Type       string  `json:"type"`
	Onset      int64   `json:"onset"`
	End        int64   `json:"end"`
	Label      string  `json:"label"`
	Confidence float64 `json:"confidence"`
}

// NewEvent returns an event's line; at maps a sample that was heard to one of the input.
func NewEvent(e events.Event, at func(int64) int64) Event {
	return Event{Type: "event", Onset: at(e.Onset), End: at(e.End), Label: e.Label, Confidence: e.Confidence}
}

// Frame is the line of a frame.
type Frame struct {
	Type      string    `json:"type"`
	Sample    int64     `json:"sample"`
	Label     string    `json:"label,omitempty"`
	Posterior []float32 `json:"posterior,omitempty"`
	Output    []float32 `json:"output,omitempty"` // regression models, and models that answer at every sample
}

// End is the last line.
type End struct {
	Type           string  `json:"type"`
	Samples        int64   `json:"samples"`
	Seconds        float64 `json:"seconds"`          // of audio
	RealTimeFactor float64 `json:"real_time_factor"` // computing time / audio time
	Block          Block   `json:"block"`
	Dropped        int64   `json:"dropped"`
	Truncated      bool    `json:"truncated,omitempty"`
}

// Block says how long blocks of samples took, in seconds.
type Block struct {
	Samples int     `json:"samples"`
	P50     float64 `json:"p50"`
	P99     float64 `json:"p99"`
	Max     float64 `json:"max"`
}

// Error is a service's last line where the audio has not ended, or the body of its refusal.
type Error struct {
	Type    string `json:"type"`
	Code    string `json:"why"` // for programs
	Error   string `json:"error"`
	Stream  string `json:"stream,omitempty"`
	Samples *int64 `json:"samples,omitempty"` // heard: a stream that can go on does so from here
}
