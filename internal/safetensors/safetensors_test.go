package safetensors

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// raw builds a file from a header's text and bytes of data.
func raw(header string, data ...byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

func sample() *File {
	return &File{
		Metadata: map[string]string{"format": "x", "note": "größer ≥ 1, \"quoted\"\n"},
		Arrays: []Array{
			{Name: "b", Shape: []int{2, 3}, F32: []float32{1, -2, 3.5, float32(math.Inf(-1)), 0, 1e-45}},
			{Name: "a.ä", Shape: []int{2}, F32: []float32{math.MaxFloat32, 7}},
			{Name: "empty", Shape: []int{0, 4}, F32: []float32{}},
			{Name: "scalar", Shape: []int{}, F32: []float32{4}},
		},
	}
}

func encode(t testing.TB, f *File) []byte {
	t.Helper()
	var b bytes.Buffer
	n, err := f.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("WriteTo: %d, %v; %d bytes arrived", n, err, b.Len())
	}
	return b.Bytes()
}

func TestRoundTrip(t *testing.T) {
	for name, f := range map[string]*File{
		"sample": sample(), "nothing": {}, "metadata alone": {Metadata: map[string]string{"a": "b"}},
		"large": {Arrays: []Array{{Name: "x", Shape: []int{1<<14 + 5}, F32: ramp(1<<14 + 5)}}},
	} {
		b := encode(t, f)
		for how, r := range map[string]io.Reader{"whole": bytes.NewReader(b), "byte by byte": iotest.OneByteReader(bytes.NewReader(b))} {
			got, err := Read(r)
			if err != nil {
				t.Errorf("%s, %s: %v", name, how, err)
				continue
			}
			if len(f.Arrays) == 0 {
				f.Arrays = []Array{}
			}
			if f.Metadata == nil {
				f.Metadata = map[string]string{}
			}
			if !reflect.DeepEqual(got, f) {
				t.Errorf("%s, %s: got %.500v, expected %.500v", name, how, got, f)
			}
		}
	}
}

func ramp(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i)
	}
	return x
}

// The bytes are those of the format, which other programs read.
func TestBytes(t *testing.T) {
	f := &File{Metadata: map[string]string{"k": "v"}, Arrays: []Array{
		{Name: "w", Shape: []int{2}, F32: []float32{1, -2}}, {Name: "n", Shape: []int{1}, F32: []float32{1}},
	}}
	header := `{"__metadata__":{"k":"v","sha256":"` + noSum + `"},"n":{"dtype":"F32","shape":[1],"data_offsets":[8,12]},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`
	header += strings.Repeat(" ", (64-(8+len(header))%64)%64)
	want := raw(header, 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0, 0, 0x80, 0x3f)
	sum := sha256.Sum256(want)
	want = bytes.Replace(want, []byte(noSum), []byte(hex.EncodeToString(sum[:])), 1)
	if got := encode(t, f); !bytes.Equal(got, want) {
		t.Errorf("got      %q\nexpected %q", got, want)
	}
}

// Read returns the arrays in the order of their bytes, whatever the order of the header.
func TestHeaderOrder(t *testing.T) {
	f := must.Get(Read(bytes.NewReader(raw(`{"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}} `,
		0, 0, 0x80, 0x3f, 0, 0, 0, 0x40))))(t)
	if a := f.Find("a"); f.Arrays[0].Name != "a" || a.F32[0] != 1 || f.Find("b").F32[0] != 2 || f.Find("c") != nil {
		t.Errorf("got %v", f)
	}
}

func TestRejected(t *testing.T) {
	one := `"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}`
	four := []byte{0, 0, 0, 0}
	tests := []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "header's length: the file is truncated"},
		{"header of 2^60", append(binary.LittleEndian.AppendUint64(nil, 1<<60), "{}"...), "header of 1152921504606846976 bytes"},
		{"cut in the header", raw(`{` + one + `}`)[:20], "12 of"},
		{"no JSON", raw("hello"), "header: invalid character"},
		{"other type", raw(`{"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}}`, four...), `array "a": type "F16": expected F32`},
		{"product that wraps", raw(`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`), `invalid shape`},
		{"gap", raw(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 0, 0, 0, 0, 0, 0, 0, 0), `array "a" begins at byte 4, expected 0`},
		{"overlap", raw(`{`+one+`,"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, four...), `array "b" begins at byte 0, expected 4`},
		{"cut in the data", raw(`{`+one+`}`, 0, 0, 0), `array "a": the file is truncated`},
		{"a terabyte", raw(`{"a":{"dtype":"F32","shape":[274877906944],"data_offsets":[0,1099511627776]}}`, four...), `array "a": the file is truncated`},
		{"bytes left over", raw(`{`+one+`}`, 0, 0, 0, 0, 0), "trailing data after the last array"},
		{"long type", raw(`{"a":{"dtype":"` + strings.Repeat("F", 1<<20) + `"}}`), `array "a": type "FFF`},
	}
	for _, tt := range tests {
		var got *File
		var err error
		bytesUsed := must.Allocated(func() { got, err = Read(bytes.NewReader(tt.file)) })
		switch limit := uint64(1<<20 + 40*len(tt.file)); {
		case err == nil:
			t.Errorf("%s: read as %v, expected an error", tt.name, got)
		case !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "safetensors: "):
			t.Errorf("%s: error %q does not say %q", tt.name, err, tt.want)
		case len(err.Error()) > 500:
			t.Errorf("%s: an error of %d bytes", tt.name, len(err.Error()))
		case bytesUsed > limit:
			t.Errorf("%s: %d bytes allocated for a file of %d", tt.name, bytesUsed, len(tt.file))
		}
	}
}

func TestReadError(t *testing.T) {
	failure := errors.New("input/output error")
	b := encode(t, sample())
	for _, n := range []int{0, 4, 8, 20, len(b) - 1, len(b)} {
		_, err := Read(io.MultiReader(bytes.NewReader(b[:n]), iotest.ErrReader(failure)))
		if !errors.Is(err, failure) {
			t.Errorf("reader that fails after %d bytes: error %v", n, err)
		}
	}
}

// A header that Read would reject is not written.
func TestWriteRejected(t *testing.T) {
	var b bytes.Buffer
	must.Reject((&File{Metadata: map[string]string{"k": strings.Repeat("v", maxHeader)}}).WriteTo(&b))(t, "safetensors: ", "expected at most 16777216")
	must.Equal(t, b.Len(), 0, "bytes written")
}

// Every truncation and every changed bit is an error, or leaves the content as it was: the name of
// the checksum's key alone may change.
func TestDamage(t *testing.T) {
	whole := sample()
	must.Damage(t, encode(t, whole), func(b []byte) bool {
		f, err := Read(bytes.NewReader(b))
		return err != nil || reflect.DeepEqual(f.Arrays, whole.Arrays) && !bytes.Contains(b, []byte(`"`+sumKey+`"`))
	})
}

func FuzzRead(f *testing.F) {
	f.Add(encode(f, sample()))
	f.Add(raw(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 0, 0, 0x80, 0x3f))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		again, err := Read(bytes.NewReader(encode(t, file)))
		if err != nil {
			t.Fatalf("what was read cannot be written and read again: %v", err)
		}
		if !bytes.Equal(encode(t, file), encode(t, again)) {
			t.Error("a second round trip gives other bytes")
		}
	})
}
