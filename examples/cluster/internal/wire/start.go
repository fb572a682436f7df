package wire

import (
	"encoding/json"
	"fmt"
)

// maxStart is the longest description of a stream in bytes that ParseStart reads.
const maxStart = 1 << 10

// Start describes a stream. Its message is in WorkStream while the stream is in progress.
type Start struct {
	SampleRate float64 `json:"rate"` // Hz
}

// ParseStart reads the description of a stream.
func ParseStart(b []byte) (s Start, err error) {
	if len(b) > maxStart {
		return s, fmt.Errorf("description of %d bytes, expected at most %d", len(b), maxStart)
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return s, fmt.Errorf("description of the stream: %w", err)
	}
	return s, nil
}
