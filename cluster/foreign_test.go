package cluster

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Messages beyond the limits are not parsed. A job or an entry within them costs at most 16 MiB.
func TestReaderBounds(t *testing.T) {
	readJob := func(b []byte) error { _, err := parseJob(b); return err }
	readEntry := func(b []byte) error { _, err := parseEntry(b); return err }
	// full returns a message of maxJob bytes with one part as often as possible.
	full := func(begin, part, end string) string {
		return begin + strings.Repeat(part, (maxJob-len(begin)-len(end))/len(part)) + end
	}
	many := func(begin, part, end string) string { return begin + strings.Repeat(part, maxCommas) + end }
	for name, c := range map[string]struct {
		text  string
		parse func([]byte) error
		most  int
		want  string
	}{
		"a long job":        {strings.Repeat("[", maxJob+1), readJob, 64 << 10, "expected at most 1048576"},
		"a long entry":      {strings.Repeat("[", maxJob+1), readEntry, 64 << 10, "expected at most 1048576"},
		"a long report":     {strings.Repeat("[", maxReport+1), func(b []byte) error { _, err := parseReport(b); return err }, 64 << 10, "expected at most 4096"},
		"a deep job":        {strings.Repeat("[", maxJob), readJob, 16 << 20, "exceeded max depth"},
		"too many data":     {full(`{"data":[0`, ",0", "]}"), readJob, 64 << 10, "commas outside strings, expected at most 4096"},
		"too many files":    {full(`{"files":[0`, ",0", "]}"), readEntry, 64 << 10, "commas outside strings, expected at most 4096"},
		"many data":         {many(`{"data":[{}`, ",{}", "]}"), readJob, 16 << 20, "version 0"},
		"many files":        {many(`{"files":[{}`, ",{}", "]}"), readEntry, 16 << 20, "version 0"},
		"many wrong data":   {many(`{"data":[0`, ",0", "]}"), readJob, 16 << 20, "cannot unmarshal"},
		"many wrong files":  {many(`{"files":[0`, ",0", "]}"), readEntry, 16 << 20, "cannot unmarshal"},
		"many wrong levels": {many(`{"levels":[0`, ",0", "]}"), readEntry, 16 << 20, "cannot unmarshal"},
		"no UTF-8":          {full(`{"config":"`, "\xff", `"}`), readJob, 16 << 20, "version 0"},
		"commas in a text":  {full(`{"config":"\"\\",`+`"name":"\"`, ",", `\\"}`), readJob, 16 << 20, "version 0"},
		"a long number":     {full(`{"run":1`, "1", "}"), readJob, 16 << 20, "cannot unmarshal"},
		"long wrong data":   {full(`{"data":[`, strings.Repeat("1", maxJob/maxCommas)+",", "1]}"), readJob, 16 << 20, "cannot unmarshal"},
		"negative steps":    {`{"step":-1}`, func(b []byte) error { _, err := parseReport(b); return err }, 64 << 10, "expected no negative number"},
		"another message":   {"[]", func(b []byte) error { _, err := parseReport(b); return err }, 64 << 10, "cluster: report: json"},
	} {
		var err error
		text := []byte(c.text)
		must.Allocates(t, c.most, func() { err = c.parse(text) }, "%s of %d bytes", name, len(text))
		must.Fail(t, err, c.want)
	}
	archive := archiveOf(t, tar.Header{Name: "data/x", Typeflag: tar.TypeReg, PAXRecords: map[string]string{"comment": "x"}}, "text")
	must.HugeNumbers(t, 8<<20, archive[:2*block], func(b []byte) { _ = unpack(bytes.NewReader(b), t.TempDir(), "data", 1000) })
	size := []byte("77777777777\x00") // 8 GiB
	for i, name := range []string{"the extended header", "the file"} {
		b := bytes.Clone(archive)
		header := b[2*i*block:][:block]
		copy(header[124:], size)
		copy(header[148:], "        ")
		sum := 0
		for _, v := range header {
			sum += int(v)
		}
		copy(header[148:], fmt.Sprintf("%06o\x00 ", sum))
		var err error
		must.Allocates(t, 8<<20, func() { err = unpack(bytes.NewReader(b), t.TempDir(), "data", 1000) }, "%s of 8 GiB", name)
		must.Fail(t, err, "cluster: archive: ")
	}
}

// A report that is accepted is the same after it was written and read again, and changes only the
// run that its worker has.
func FuzzReport(f *testing.F) {
	f.Add([]byte(`{"run":0,"worker":"a","step":10,"steps":30,"epoch":1,"epochs":3,"result":"accuracy 62.5 %"}`))
	f.Add([]byte(`{"run":1,"worker":"b","step":1}`))
	f.Add([]byte(`{"run":-1,"worker":"a","step":-9223372036854775808}`))
	f.Add([]byte(`{"Run":1e0}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var r report
		var err error
		must.Allocates(t, 16*min(len(text), maxReport)+1<<16, func() { r, err = parseReport(text) }, "%d bytes", len(text))
		before := []Status{{State: running, Worker: "a"}, {State: running, Worker: "b"}, {State: queued}}
		s := &sweep{Coordinator: &Coordinator{}, open: map[int]bool{0: true, 1: true, 2: true}, state: append([]Status{}, before...)}
		s.report(text)
		for i := range before {
			accepted := err == nil && r.Run == i && r.Worker == before[i].Worker && before[i].State == running
			if s.state[i] != before[i] && !accepted {
				t.Errorf("%q changes run %d to %+v", text, i, s.state[i])
			}
			if accepted {
				want := Status{State: running, Worker: r.Worker, Step: r.Step, Steps: r.Steps, Epoch: r.Epoch, Epochs: r.Epochs, Result: r.Result}
				must.Equal(t, s.state[i], want, "status of run %d", i)
			}
		}
		if err == nil {
			first := must.Get(json.Marshal(r))(t)
			if len(first) <= maxReport { // an invalid byte becomes three
				must.Equal(t, must.Get(parseReport(first))(t), r, "report read again")
			}
		}
	})
}
