package wire

import (
	"encoding/json"
	"fmt"
)

// maxStatus is the longest status in bytes that ParseStatus reads.
const maxStatus = 1 << 10

// Status is what a member tells the others about its load.
type Status struct {
	Streams int     `json:"streams"`
	Limit   int     `json:"limit,omitempty"` // of streams, after it was slow; 0: none
	Lag     float64 `json:"lag"`             // mean delay of a chunk in seconds
	Slow    bool    `json:"slow,omitempty"`
}

// Encode returns the value in the key-value store.
func (s Status) Encode() []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic("wire: " + err.Error()) // a lag that is NaN or infinite
	}
	return b
}

// ParseStatus reads a value of the key-value store.
func ParseStatus(b []byte) (s Status, err error) {
	if len(b) > maxStatus {
		return s, fmt.Errorf("status of %d bytes, expected at most %d", len(b), maxStatus)
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return s, fmt.Errorf("status: %w", err)
	}
	if s.Streams < 0 || s.Limit < 0 || s.Lag < 0 {
		return s, fmt.Errorf("status with %d streams, limit %d and lag %g, expected at least 0", s.Streams, s.Limit, s.Lag)
	}
	return s, nil
}
