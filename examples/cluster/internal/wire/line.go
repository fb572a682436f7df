package wire

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
)

// numberHeader holds the number of a line in its stream, from 1.
const numberHeader = "Line"

// maxLine is the longest line in bytes that NewLine makes and ParseLine reads.
const maxLine = 4 << 10

// End is the last line of a stream that ended.
type End struct {
	Type    string  `json:"type"` // end
	Samples int64   `json:"samples"`
	Seconds float64 `json:"seconds"`
}

// NewLine returns the message of a line: the JSON text of report.Event, End or report.Error. All
// owners of the stream give a line the same message ID, so that JetStream stores it once.
func NewLine(stream string, number int64, line any) (*nats.Msg, error) {
	b, err := json.Marshal(line)
	if err == nil && len(b) > maxLine {
		err = fmt.Errorf("line of %d bytes, expected at most %d", len(b), maxLine)
	}
	if err != nil {
		return nil, err
	}
	m := nats.NewMsg(LineSubject(stream))
	m.Data = b
	m.Header.Set(numberHeader, strconv.FormatInt(number, 10))
	m.Header.Set(nats.MsgIdHdr, stream+"/"+strconv.FormatInt(number, 10))
	return m, nil
}

// ParseLine returns the number of a line, and whether it is the last one of its stream.
func ParseLine(header nats.Header, data []byte) (number int64, last bool, err error) {
	if number, err = strconv.ParseInt(header.Get(numberHeader), 10, 64); err != nil || number < 1 {
		return 0, false, fmt.Errorf("line with the number %.20q, expected at least 1", header.Get(numberHeader))
	}
	var line struct {
		Type string `json:"type"`
	}
	if len(data) > maxLine {
		return 0, false, fmt.Errorf("line of %d bytes, expected at most %d", len(data), maxLine)
	}
	if err := json.Unmarshal(data, &line); err != nil {
		return 0, false, fmt.Errorf("line %d: %w", number, err)
	}
	return number, line.Type == "end" || line.Type == "error", nil
}
