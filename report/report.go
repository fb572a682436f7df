// Package report defines the JSON lines that cmd/s4d-fast and package service output for a stream.
// docs/output.md describes them. Times are sample indices of the input.
package report

import (
	"time"

	"github.com/s4d-fast/s4d-fast/events"
)

// Start is the first line.
type Start struct {
	Type            string   `json:"type"`
	Format          string   `json:"format"`
	SampleRate      float64  `json:"rate"`
	ModelSampleRate float64  `json:"model_rate,omitempty"` // if it differs
	Model           string   `json:"model"`
	Task            string   `json:"task,omitempty"`
	Labels          []string `json:"labels,omitempty"`
	Level           string   `json:"level"`
	Emit            string   `json:"emit"`
	Hop             int      `json:"hop,omitempty"`
	Stream          string   `json:"stream,omitempty"`  // of a service: the stream's name
	Samples         *int64   `json:"samples,omitempty"` // of a service: already processed
}

// Event is the line of an event.
type Event struct {
	Type       string  `json:"type"`
	Onset      int64   `json:"onset"`
	End        int64   `json:"end"`
	Label      string  `json:"label"`
	Confidence float64 `json:"confidence"`
}

// NewEvent returns the line of an event of an events.Stream.
func NewEvent(e events.Event) Event {
	return Event{Type: "event", Onset: e.Onset, End: e.End, Label: e.Label, Confidence: e.Confidence}
}

// Frame is the line of a frame.
type Frame struct {
	Type      string    `json:"type"`
	Sample    int64     `json:"sample"`
	Label     string    `json:"label,omitempty"`
	Posterior []float32 `json:"posterior,omitempty"`
	Output    []float32 `json:"output,omitempty"` // in place of Label and Posterior
}

// End is the last line.
type End struct {
	Type           string  `json:"type"`
	Samples        int64   `json:"samples"`
	Seconds        float64 `json:"seconds"`          // of audio
	RealTimeFactor float64 `json:"real_time_factor"` // computing time divided by Seconds
	Block          Block   `json:"block"`
	Dropped        int64   `json:"dropped"`
	Truncated      bool    `json:"truncated,omitempty"`
}

// NewEnd returns the line of a stream with a number of samples at a rate in Hz, and its computing
// time.
func NewEnd(samples int64, rate float64, busy time.Duration, block Block) End {
	end := End{Type: "end", Samples: samples, Seconds: float64(samples) / rate, Block: block}
	if samples > 0 {
		end.RealTimeFactor = busy.Seconds() / end.Seconds
	}
	return end
}

// Block has the number of samples of a block, and quantiles of the time from its arrival to its
// lines.
type Block struct {
	Samples int `json:"samples"`
	Quantiles
}

// Class is the response of a service to a clip.
type Class struct {
	Type    string             `json:"type"`
	Label   string             `json:"label"`
	Scores  map[string]float32 `json:"scores"`          // of each label, 0 to 1
	Samples int                `json:"samples"`         // at the model's rate
	Notes   []string           `json:"notes,omitempty"` // how the clip was read
}

// Note is the line of a service that says how its input was read.
type Note struct {
	Type string `json:"type"`
	Note string `json:"note"`
}

// Error is the last line of a service if a stream cannot continue, or the body of a rejected
// request.
type Error struct {
	Type    string `json:"type"`
	Code    string `json:"why"` // for programs
	Error   string `json:"error"`
	Stream  string `json:"stream,omitempty"`
	Samples *int64 `json:"samples,omitempty"` // already processed, if the stream can be resumed
}
