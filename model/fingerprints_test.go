package model

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Fingerprints are sorted, distinct and without that of silence. They keep their value as text.
func TestFingerprints(t *testing.T) {
	f := Fingerprints(nil).With(7, 1<<39, 0).With(7, 1<<63|3)
	must.Equal(t, fmt.Sprint(f), "[3 7 549755813888]", "fingerprints")
	must.Equal(t, fmt.Sprint(f.Has(7), f.Has(1<<50|7), f.Has(8), f.Has(0)), "true true false false", "membership")
	text := must.Get(json.Marshal(Meta{Recordings: f}))(t)
	must.Equal(t, string(text), `{"recordings":"5:AwAAAAAHAAAAAAAAAACA"}`, "JSON")
	var m Meta
	must.Do(t, json.Unmarshal(text, &m))
	must.Equal(t, fmt.Sprint(m.Recordings), fmt.Sprint(f), "fingerprints from JSON")
	for _, bad := range []string{`{"recordings":"AwAAAAAAAAA="}`, `{"recordings":"?"}`, `{"recordings":"5:AwAA"}`} {
		must.Fail(t, json.Unmarshal([]byte(bad), &m), `expected "5:" and the base64 encoding of 5 bytes per recording`)
	}
}
