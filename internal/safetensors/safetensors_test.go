package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
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
			{Name: "a.ä", Shape: []int{2}, I64: []int64{math.MinInt64, 7}},
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
		"larger than a chunk": {Arrays: []Array{{Name: "x", Shape: []int{chunk + 5}, F32: ramp(chunk + 5)}}},
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
			if !reflect.DeepEqual(got, f) {
				t.Errorf("%s, %s: got %v, want %v", name, how, got, f)
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

// The bytes are the format's: other programs read them.
func TestBytes(t *testing.T) {
	f := &File{Metadata: map[string]string{"k": "v"}, Arrays: []Array{
		{Name: "w", Shape: []int{2}, F32: []float32{1, -2}}, {Name: "n", Shape: []int{1}, I64: []int64{-1}},
	}}
	header := `{"__metadata__":{"k":"v"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"n":{"dtype":"I64","shape":[1],"data_offsets":[8,16]}}`
	header += strings.Repeat(" ", (64-(8+len(header))%64)%64)
	want := raw(header, 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	if got := encode(t, f); !bytes.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// Arrays come out in the order of their bytes, whatever the header's order.
func TestHeaderOrder(t *testing.T) {
	f, err := Read(bytes.NewReader(raw(`{"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}} `,
		0, 0, 0x80, 0x3f, 0, 0, 0, 0x40)))
	if err != nil {
		t.Fatal(err)
	}
	if a := f.Find("a"); f.Arrays[0].Name != "a" || a.F32[0] != 1 || f.Find("b").F32[0] != 2 || f.Find("c") != nil {
		t.Errorf("got %v", f)
	}
}

func TestRefused(t *testing.T) {
	one := `"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}`
	four := []byte{0, 0, 0, 0}
	tests := []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "header's length: the file is cut short"},
		{"half a length", []byte{1, 2, 3}, "header's length: the file is cut short"},
		{"absurd header", raw("{}")[:8:8], "header: the file is cut short: 0 of 2 bytes"},
		{"header of 2^60", append(binary.LittleEndian.AppendUint64(nil, 1<<60), "{}"...), "header of 1152921504606846976 bytes"},
		{"header of 0", raw(""), "header of 0 bytes"},
		{"cut in the header", raw(`{` + one + `}`)[:20], "12 of"},
		{"no JSON", raw("hello"), "no JSON object"},
		{"JSON array", raw("[1]"), "no JSON object"},
		{"open object", raw(`{` + one), "header:"},
		{"two objects", raw(`{} {}`), "something follows"},
		{"array that is a number", raw(`{"a":7}`), `array "a"`},
		{"metadata that is a list", raw(`{"__metadata__":[]}`), "metadata:"},
		{"metadata that is nested", raw(`{"__metadata__":{"a":{}}}`), "metadata:"},
		{"twice", raw(`{`+one+`,`+one+`}`, four...), `"a" is one too many`},
		{"other type", raw(`{"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}}`, four...), `array "a": type "F16": only F32 and I64`},
		{"no type", raw(`{"a":{"shape":[1],"data_offsets":[0,4]}}`, four...), `array "a": type ""`},
		{"place too small", raw(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, four...), `array "a": shape [2] takes 8 bytes`},
		{"backwards", raw(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}`, four...), `array "a": shape [1] takes 4 bytes, its place is [4 0]`},
		{"place that wraps", raw(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[9223372036854775807,-9223372036854775805]}}`, four...), `array "a"`},
		{"negative place", raw(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}}`, four...), `array "a"`},
		{"negative dimension", raw(`{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,-4]}}`), `shape [-1] makes no sense`},
		{"two negative dimensions", raw(`{"a":{"dtype":"F32","shape":[-1,-1],"data_offsets":[0,4]}}`, four...), `makes no sense`},
		{"product that wraps", raw(`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`), `makes no sense`},
		{"fraction", raw(`{"a":{"dtype":"F32","shape":[0.5],"data_offsets":[0,2]}}`), `array "a"`},
		{"nine dimensions", raw(`{"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}}`, four...), "9 dimensions"},
		{"gap", raw(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 0, 0, 0, 0, 0, 0, 0, 0), `array "a" begins at byte 4, want 0`},
		{"overlap", raw(`{`+one+`,"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, four...), `array "b" begins at byte 0, want 4`},
		{"cut in the data", raw(`{`+one+`}`, 0, 0, 0), `array "a": the file is cut short`},
		{"no data", raw(`{` + one + `}`), `array "a": the file is cut short`},
		{"a terabyte", raw(`{"a":{"dtype":"F32","shape":[274877906944],"data_offsets":[0,1099511627776]}}`, four...), `array "a": the file is cut short`},
		{"bytes left over", raw(`{`+one+`}`, 0, 0, 0, 0, 0), "bytes after the last array"},
		{"deep JSON", raw(`{"a":` + strings.Repeat("[", 100_000) + `}`), `array "a"`},
		{"long name", raw(`{"` + strings.Repeat("n", 1<<20) + `":7}`), "a name of 1048576 bytes: want at most 256"},
		{"long type", raw(`{"a":{"dtype":"` + strings.Repeat("F", 1<<20) + `"}}`), `array "a": type "FFF`},
		{"long number", raw(`{"a":{"shape":[` + strings.Repeat("9", 1<<20) + `]}}`), `array "a": json: cannot unmarshal number 999`},
		{"long number in the metadata", raw(`{"__metadata__":{"a":` + strings.Repeat("9", 1<<20) + `}}`), `metadata: json: cannot unmarshal number`},
		{"many arrays", raw(`{` + strings.TrimSuffix(manyEmpty(maxArrays+2), ",") + `}`), "one too many"},
	}
	for _, tt := range tests {
		var got *File
		var err error
		bytesUsed := allocated(func() { got, err = Read(bytes.NewReader(tt.file)) })
		switch {
		case err == nil:
			t.Errorf("%s: read as %v, want an error", tt.name, got)
		case !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "safetensors: "):
			t.Errorf("%s: error %q does not say %q", tt.name, err, tt.want)
		}
		if err != nil && len(err.Error()) > 500 {
			t.Errorf("%s: an error of %d bytes", tt.name, len(err.Error()))
		}
		if limit := uint64(1<<20 + 20*len(tt.file)); bytesUsed > limit {
			t.Errorf("%s: %d bytes allocated for a file of %d", tt.name, bytesUsed, len(tt.file))
		}
	}
}

// manyEmpty describes n empty arrays of different names.
func manyEmpty(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`"` + string(rune('a'+i%26)) + string(rune(0x4e00+i/26)) + `":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},`)
	}
	return b.String()
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestReadError(t *testing.T) {
	broken := errors.New("the disk is on fire")
	b := encode(t, sample())
	for _, n := range []int{0, 4, 8, 20, len(b) - 1, len(b)} {
		_, err := Read(io.MultiReader(bytes.NewReader(b[:n]), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) {
			t.Errorf("reader that fails after %d bytes: error %v", n, err)
		}
	}
}

func TestWriteRefused(t *testing.T) {
	for name, a := range map[string]Array{
		"too few values": {Name: "a", Shape: []int{2}, F32: []float32{1}},
		"no values":      {Name: "a", Shape: []int{2}},
		"both types":     {Name: "a", Shape: []int{1}, F32: []float32{1}, I64: []int64{1}},
	} {
		_, err := (&File{Arrays: []Array{a}}).WriteTo(io.Discard)
		if err == nil || !strings.Contains(err.Error(), `"a"`) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// Every truncation, and thousands of wrong bytes: an error or a file that can be written again, in little
// memory.
func TestMutations(t *testing.T) {
	b := encode(t, sample())
	for n := range b {
		if _, err := Read(bytes.NewReader(b[:n])); err == nil {
			t.Errorf("%d of %d bytes: no error", n, len(b))
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	refused := 0
	for i := range 5000 {
		m := bytes.Clone(b)
		m[i%len(m)] ^= byte(1 + r.IntN(255))
		if used := allocated(func() {
			f, err := Read(bytes.NewReader(m))
			if err != nil {
				refused++
				return
			}
			encode(t, f)
		}); used > 1<<20 {
			t.Fatalf("byte %d = %#x: %d bytes allocated", i%len(m), m[i%len(m)], used)
		}
	}
	if refused < 2500 {
		t.Errorf("%d of 5000 mutated files refused: the mutations do not bite", refused)
	}
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
			t.Error("what was read does not survive writing")
		}
	})
}
