package service

import (
	"bytes"
	"errors"
	"math"
	"math/bits"
	"time"

	"github.com/s4d-fast/s4d-fast/report"
)

// gobReader reads a snapshot that encoding/gob has written. The Decoder of that package allocates
// hundreds of times the size of a forged file, this reader at most the size of the file and a few
// kB. It skips the definitions of types and expects the fields of snapshot, in their order: other
// fields require another magic word.
type gobReader struct {
	b   []byte // not yet read
	err error
}

var errInvalidGob = errors.New("its content is invalid")

func (r *gobReader) fail() { r.b, r.err = nil, errInvalidGob }

// decodeGob reads a file of one snapshot.
func decodeGob(b []byte) (*snapshot, error) {
	file := &gobReader{b: b}
	for {
		r := &gobReader{b: file.bytes()} // a message; empty if there is none
		if r.int() < 0 {
			continue // a definition
		}
		v := &snapshot{}
		if r.fields(&v.Identity, &v.Detector, &v.Resampler, &v.Saved); len(r.b)+len(file.b) > 0 {
			r.fail()
		}
		return v, r.err
	}
}

// uint reads a byte less than 128, or the negative length of a number and that number.
func (r *gobReader) uint() (v uint64) {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	n := -int(int8(r.b[0]))
	if n <= 0 {
		v, r.b = uint64(r.b[0]), r.b[1:]
		return v
	}
	if n > 8 || n >= len(r.b) {
		r.fail()
		return 0
	}
	for _, c := range r.b[1 : 1+n] {
		v = v<<8 | uint64(c)
	}
	r.b = r.b[1+n:]
	return v
}

// int reads a number whose lowest bit states that the others are inverted.
func (r *gobReader) int() int64 {
	u := r.uint()
	return int64(u>>1) ^ -int64(u&1)
}

// bytes returns a part of the file.
func (r *gobReader) bytes() (b []byte) {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	b, r.b = r.b[:n], r.b[n:]
	return b
}

// fields reads a struct, for which it gets pointers to all fields. Each field follows the
// difference between its index and that of the previous one; zeros are left out.
func (r *gobReader) fields(fields ...any) {
	for {
		step := r.uint()
		if step == 0 || r.err != nil {
			return
		}
		if step > uint64(len(fields)) {
			r.fail()
			return
		}
		r.field(fields[step-1])
		fields = fields[step:]
	}
}

func (r *gobReader) field(to any) {
	switch v := to.(type) {
	case *bool:
		n := r.uint()
		if *v = n == 1; n > 1 {
			r.fail()
		}
	case *int:
		n := r.int()
		if *v = int(n); int64(*v) != n {
			r.fail()
		}
	case *int64:
		*v = r.int()
	case *time.Duration:
		*v = time.Duration(r.int())
	case *float64:
		*v = math.Float64frombits(bits.ReverseBytes64(r.uint()))
	case *string:
		*v = string(r.bytes())
	case *[]byte:
		*v = bytes.Clone(r.bytes())
	case *time.Time:
		if v.UnmarshalBinary(r.bytes()) != nil {
			r.fail()
		}
	case *identity:
		r.fields(&v.ID, &v.Client, &v.Connected, &v.Began, &v.EventCount, &v.Recent, &v.Busy, &v.Samples, &v.SampleRate, &v.End)
	case *[]report.Event:
		n := r.uint()
		if n > maxRecent {
			r.fail()
			return
		}
		*v = make([]report.Event, n)
		for i := range *v {
			r.field(&(*v)[i])
		}
	case *report.Event:
		r.fields(&v.Type, &v.Onset, &v.End, &v.Label, &v.Confidence)
	case **report.End:
		*v = new(report.End)
		r.field(*v)
	case *report.End:
		r.fields(&v.Type, &v.Samples, &v.Seconds, &v.RealTimeFactor, &v.Block, &v.Dropped, &v.Truncated)
	case *report.Block:
		r.fields(&v.Samples, &v.P50, &v.P99, &v.Max)
	default: // a field of another type was added
		r.fail()
	}
}
