package train

import (
	"encoding/json"
	"io"
)

// writeLog replaces metrics.jsonl: a line per epoch and one of the test, if that is not nil.
func (r *Run) writeLog(epochs []Metrics, test *testRecord) error {
	return r.replace(metricsFile, func(w io.Writer) error {
		lines := json.NewEncoder(w)
		for _, m := range epochs {
			if err := lines.Encode(m); err != nil {
				return err
			}
		}
		if test == nil {
			return nil
		}
		return lines.Encode(test)
	})
}
