package pth

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

func TestParse(t *testing.T) {
	two := vector("FloatStorage", "0", 2)
	a := Tensor{"a", []int{2}, []float32{1.5, -2}, false}
	tests := []struct {
		name     string
		pickle   string
		storages [][]byte
		want     []Tensor
	}{
		{"plain", dictOf(text("a"), two), [][]byte{floats(1.5, -2)}, []Tensor{a}},
		{"ordered", orderedDict + "(" + text("a") + two + "u", [][]byte{floats(1.5, -2)}, []Tensor{a}},
		{"wrapped", dictOf(text("model"), dictOf(text("a"), two), text("acc"), "G\x40\x55\x00\x00\x00\x00\x00\x00", text("epoch"), "K\x07"),
			[][]byte{floats(1.5, -2)}, []Tensor{a}},
		{"objects beside", dictOf(text("best"), "cnumpy.core.multiarray\nscalar\n"+tupleOf("cnumpy\ndtype\n"+tupleOf(text("f8"))+"R("+text("<")+"tb", text("x"))+"R", text("a"), two), [][]byte{floats(1.5, -2)}, []Tensor{a}},
		{"halves", dictOf(text("a"), vector("HalfStorage", "0", 6)), [][]byte{[]byte("\x00\x3e\x00\xc0\x01\x00\x00\x80\xff\x7b\x00\xfc")},
			[]Tensor{{"a", []int{6}, []float32{1.5, -2, 0x1p-24, 0, 65504, float32(math.Inf(-1))}, false}}},
		{"brain floats", dictOf(text("a"), vector("BFloat16Storage", "0", 2)), [][]byte{[]byte("\xc0\x3f\x00\xc0")}, []Tensor{a}},
		{"conjugate", dictOf(text("a"), withMetadata("ComplexFloatStorage", text("conj"), "\x88")), [][]byte{floats(1, 2)}, []Tensor{{"a", []int{1, 2}, []float32{1, -2}, false}}},
		{"negative", dictOf(text("a"), withMetadata("DoubleStorage", text("neg"), "\x88", text("conj"), "\x89")), [][]byte{doubles(1.5)}, []Tensor{{"a", []int{1}, []float32{-1.5}, false}}},
		{"negative conjugate", dictOf(text("a"), withMetadata("ComplexFloatStorage", text("neg"), "\x88", text("conj"), "\x88")), [][]byte{floats(1, 2)}, []Tensor{{"a", []int{1, 2}, []float32{-1, 2}, false}}},
		{"no bits", dictOf(text("a"), withMetadata("ComplexFloatStorage")), [][]byte{floats(1, 2)}, []Tensor{{"a", []int{1, 2}, []float32{1, 2}, false}}},
		{"protocol 4", "\x95\x00\x00\x00\x00\x00\x00\x00\x00" + dictOf("\x8c\x01a\x94", strings.Replace(two, "ctorch._utils\n_rebuild_tensor_v2\n", "\x8c\x0ctorch._utils\x94\x8c\x12_rebuild_tensor_v2\x94\x93\x94", 1), text("hash"), "C\x02ab\x94"),
			[][]byte{floats(1.5, -2)}, []Tensor{a}},
		{"file order", dictOf(text("b"), vector("FloatStorage", "1", 1), text("a"), two), [][]byte{floats(1.5, -2), floats(3)},
			[]Tensor{{"b", []int{1}, []float32{3}, false}, a}},
		{"view of a storage", dictOf(text("a"), tensor(storageOf("FloatStorage", "0", 7), 1, []int{2, 3}, []int{3, 1})),
			[][]byte{floats(0, 1, 2, 3, 4, 5, 6)}, []Tensor{{"a", []int{2, 3}, []float32{1, 2, 3, 4, 5, 6}, false}}},
		{"stride of a dimension of 1", dictOf(text("a"), tensor(storageOf("FloatStorage", "0", 2), 0, []int{2, 1}, []int{1, 99})),
			[][]byte{floats(4, 5)}, []Tensor{{"a", []int{2, 1}, []float32{4, 5}, false}}},
		{"transposed", dictOf(text("a"), tensor(storageOf("FloatStorage", "0", 6), 0, []int{2, 3}, []int{1, 2})), [][]byte{floats(1, 2, 3, 4, 5, 6)},
			[]Tensor{{"a", []int{2, 3}, []float32{1, 3, 5, 2, 4, 6}, false}}},
		{"parameter", dictOf(text("a"), "ctorch._utils\n_rebuild_parameter\n"+tupleOf(two, "\x88", orderedDict)+"R"), [][]byte{floats(1.5, -2)}, []Tensor{a}},
		{"complex", dictOf(text("a"), vector("ComplexFloatStorage", "0", 2)), [][]byte{floats(1, 2, 3, 4)}, []Tensor{{"a", []int{2, 2}, []float32{1, 2, 3, 4}, false}}},
		{"scalar", dictOf(text("a"), tensor(storageOf("FloatStorage", "0", 1), 0, nil, nil)), [][]byte{floats(4)},
			[]Tensor{{"a", []int{}, []float32{4}, false}}},
		{"empty", dictOf(text("a"), tensor(storageOf("FloatStorage", "0", 1), 0, []int{0}, []int{1})), [][]byte{floats(4)},
			[]Tensor{{"a", []int{0}, []float32{}, false}}},
	}
	for _, tt := range tests {
		got, err := parse(checkpoint(t, whole(tt.pickle), tt.storages...))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if !slices.EqualFunc(got, tt.want, same) {
			t.Errorf("%s: %v, expected %v", tt.name, got, tt.want)
		}
	}
}

// Every file that is not a state dict of floats is rejected, and the error says what is wrong.
func TestRefused(t *testing.T) {
	one := vector("FloatStorage", "0", 1)
	good := whole(dictOf(text("a"), one))
	sum := checkpoint(t, good, floats(12345))
	sum[bytes.Index(sum, floats(12345))]++
	tests := []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "not a zip file"},
		{"old format", []byte("\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."), "before PyTorch 1.6"},
		{"another pickle", []byte(good), "a pickle that torch.save has not written, such as one of NumPy; " + WayOut},
		{"truncated", sum[:len(sum)-30], "truncated"},
		{"damaged storage", sum, `"ckpt/data/0": zip: checksum error`},
		{"compressed zeros", zipped(t, zip.Deflate, file{"ckpt/data.pkl", []byte(good)}, file{"ckpt/data/0", make([]byte, maxSmall+1<<20)}), "the entries together are too large for a file of"},
		{"another zip file", zipped(t, zip.Store, file{"word/document.xml", []byte("x")}), "no data.pkl"},
		{"big endian", zipped(t, zip.Store, file{"x/data.pkl", []byte(good)}, file{"x/byteorder", []byte("big")}), `byte order "big"`},

		{"code", checkpoint(t, whole("cos\nsystem\n"+tupleOf(text("true"))+"R")), `the pickle is a "os.system", expected a dictionary; save only the weights`},
		{"parameter with state", checkpoint(t, whole(dictOf(text("a"), "ctorch._utils\n_rebuild_parameter_with_state\n)R"))), `"torch._utils._rebuild_parameter_with_state"`},
		{"no end", checkpoint(t, "\x80\x02}"), "malformed pickle"},
		{"empty stack", checkpoint(t, whole("s")), "malformed pickle"},
		{"another opcode", checkpoint(t, whole("i")), "opcode 'i'"},
		{"far memo", checkpoint(t, whole("Nr\xff\xff\xff\x7f")), "malformed pickle: value 2147483647 is stored after 0 others"},
		{"items of a dictionary", checkpoint(t, whole("ccollections\nOrderedDict\n"+tupleOf("]")+"R")), "made of a list of items"},
		{"unknown metadata", checkpoint(t, whole(dictOf(text("a"), withMetadata("FloatStorage", text("zero"), "\x88"))), floats(1)), `metadata of a tensor: "zero"`},
		{"an argument more", checkpoint(t, whole(dictOf(text("a"), strings.Replace(withMetadata("FloatStorage"), "tR", "NtR", 1))), floats(1)), "described by 8 values"},

		{"no tensors", checkpoint(t, whole(dictOf(text("state_dict"), dictOf(text("epoch"), "K\x07")))), "no dictionary in the file has tensors"},
		{"storage larger than its entry", checkpoint(t, whole(dictOf(text("a"), vector("FloatStorage", "0", 2))), floats(1)), "2 elements of 4 bytes declared, the file has 4 bytes"},
		{"tensor past its storage", checkpoint(t, whole(dictOf(text("a"), tensor(storageOf("FloatStorage", "0", 1), 1, []int{1}, []int{1}))), floats(1)), "outside its storage"},
		{"one storage, many tensors", checkpoint(t, whole(manyViews(100, 100)), make([]byte, 400)), "as large as the file"},
	}
	for _, tt := range tests {
		got, err := parse(tt.file)
		switch {
		case err == nil:
			t.Errorf("%s: read as %v, expected an error", tt.name, got)
		case !strings.Contains(err.Error(), tt.want):
			t.Errorf("%s: error %q does not say %q", tt.name, err, tt.want)
		case len(err.Error()) > 300:
			t.Errorf("%s: an error of %d bytes", tt.name, len(err.Error()))
		}
	}
}

// manyViews is a state dict of n tensors that share one storage of size elements.
func manyViews(n, size int) string {
	items := []string{}
	for i := range n {
		ref := "h\x01"
		if i == 0 {
			ref = tensor(storageOf("FloatStorage", "0", size), 0, []int{size}, []int{1}) + "q\x01"
		}
		items = append(items, text(strings.Repeat("a", i+1)), ref)
	}
	return dictOf(items...)
}

// A zip directory may declare one range of bytes as many entries, which together are larger than
// the file.
func TestOverlappingEntries(t *testing.T) {
	b := zipped(t, zip.Store, file{"x/data.pkl", make([]byte, 1000)})
	directory, tail := bytes.Index(b, []byte("PK\x01\x02")), bytes.Index(b, []byte("PK\x05\x06"))
	const entries = 9
	records, end := bytes.Repeat(b[directory:tail], entries), bytes.Clone(b[tail:])
	binary.LittleEndian.PutUint16(end[8:], entries)
	binary.LittleEndian.PutUint16(end[10:], entries)
	binary.LittleEndian.PutUint32(end[12:], uint32(len(records)))
	must.Reject(parse(slices.Concat(b[:directory], records, end)))(t, `zip entry "x/data.pkl": the entries together are too large for a file`)
}

// Entries may be compressed.
func TestCompressed(t *testing.T) {
	b := zipped(t, zip.Deflate, file{"a/data.pkl", []byte(whole(dictOf(text("a"), vector("FloatStorage", "0", 1000))))}, file{"a/data/0", make([]byte, 4000)})
	got, err := parse(b)
	if err != nil || len(got) != 1 || len(got[0].Data) != 1000 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestLoadNamesThePath(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.pth")
	must.Do(t, os.WriteFile(bad, []byte("hello"), 0o644))
	for _, path := range []string{bad, dir, filepath.Join(dir, "gone.pth"), os.DevNull} {
		if _, err := Load(path, nil); err == nil || strings.Count(err.Error(), path) != 1 {
			t.Errorf("Load(%s): error %v, expected one that names the path once", path, err)
		}
	}
}

// The most expensive small pickles stay within the memory bound.
func TestNoAmplification(t *testing.T) {
	for name, body := range map[string]string{
		"lists":         repeated("]", 400_000),
		"tuples":        repeated("(t", 200_000),
		"dictionaries":  repeated("}", 400_000),
		"ordered dicts": orderedDict + "ccollections\nOrderedDict\nq\x01" + repeated("h\x01)R", 150_000),
		// 2^100000 leaves, shared
		"nested":       "]q\x01" + repeated("h\x01h\x01\x86q\x01", 100_000),
		"itself":       "]q\x01h\x01a",
		"one long key": orderedDict + text(repeated("k", 3<<20)) + "q\x02Ns" + repeated("h\x02Ns", 100_000),
		"many stored":  "N" + repeated("\x94", 400_000),
		"many states":  orderedDict + "q\x01" + "}(" + repeated("\x8c\x01aN", 100_000) + "uq\x02b" + repeated("h\x02b", 100_000),
	} {
		b := checkpoint(t, whole(body))
		got := must.Allocated(func() {
			if tensors, _ := parse(b); len(tensors) > 0 {
				t.Errorf("%s: %d tensors", name, len(tensors))
			}
		})
		t.Logf("%s: %d MiB", name, got>>20)
		if got > 200<<20 {
			t.Errorf("%s: %d bytes of pickle made Parse allocate %d MiB", name, len(body), got>>20)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(whole(dictOf(text("a"), vector("FloatStorage", "0", 3)))))
	f.Add([]byte(whole(dictOf(text("model"), orderedDict+"("+text("a")+vector("DoubleStorage", "1", 4)+"u"))))
	f.Add([]byte(whole("]q\x01h\x01a")))
	for _, path := range must.Get(filepath.Glob("../golden/testdata/*.pth"))(f) { // written by PyTorch
		r := must.Get(zip.OpenReader(path))(f)
		for _, member := range r.File {
			if strings.HasSuffix(member.Name, "/data.pkl") {
				f.Add(must.Get(io.ReadAll(must.Get(member.Open())(f)))(f))
			}
		}
		r.Close()
	}
	f.Fuzz(func(t *testing.T, pickle []byte) {
		tensors, err := parse(checkpoint(t, string(pickle), floats(1, 2, 3), doubles(1, 2, 3, 4)))
		if err != nil {
			return
		}
		for _, x := range tensors {
			checkSize(t, x)
		}
	})
}

func checkSize(t *testing.T, x Tensor) {
	t.Helper()
	n := 1
	for _, d := range x.Shape {
		n *= d
	}
	if n != len(x.Data) {
		t.Errorf("tensor %q: shape %v, %d values", x.Name, x.Shape, len(x.Data))
	}
}

// Objects beside the state dict are skipped, with their states and items. A count among the buffers
// is a tensor.
func TestForeignObjects(t *testing.T) {
	object := func(class string) string { return class + ")\x81}(" + text("x") + "K\x01ub" }
	body := dictOf(
		text("hyper_parameters"), object("comegaconf.dictconfig\nDictConfig\n"),
		text("metadata"), "ccollections\ndefaultdict\n"+tupleOf("c__builtin__\ndict\n")+"R"+text("k")+"ctyping\nAny\ns",
		text("state_dict"), dictOf(text("a"), vector("FloatStorage", "0", 1), text("n"), tensor(storageOf("LongStorage", "1", 1), 0, nil, nil)),
	)
	got, err := parse(checkpoint(t, whole(body), floats(2.5), []byte{96, 0, 0, 0, 0, 0, 0, 0}))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Tensor{{"a", []int{1}, []float32{2.5}, false}, {"n", []int{}, []float32{96}, true}} {
		if !same(got[i], want) {
			t.Errorf("%v, expected %v", got[i], want)
		}
	}
}

// A safetensors file with the names of PyTorch has the tensors of the zip file: types are widened,
// complex numbers are pairs, and an integer without dimensions is a count.
func TestSafetensors(t *testing.T) {
	flat := func(header string, data ...byte) []byte {
		return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), []byte(header), data)
	}
	b := flat(`{"__metadata__":{"format":"pt"},"h":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},"f":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},`+
		`"n":{"dtype":"I64","shape":[],"data_offsets":[8,16]},"c":{"dtype":"C64","shape":[1],"data_offsets":[16,24]},"e":{"dtype":"F64","shape":[0],"data_offsets":[24,24]}}`,
		slices.Concat([]byte("\x00\x3e\x00\xc0"), floats(3), []byte{96, 0, 0, 0, 0, 0, 0, 0}, floats(4, 5))...)
	want := []Tensor{{"h", []int{2}, []float32{1.5, -2}, false}, {"f", []int{1}, []float32{3}, false}, {"n", []int{}, []float32{96}, true}, {"c", []int{1, 2}, []float32{4, 5}, false}, {"e", []int{0}, nil, false}}
	if got, err := parse(b); err != nil || !slices.EqualFunc(got, want, same) {
		t.Errorf("%v, %v; expected %v", got, err, want)
	}
	for header, text := range map[string]string{
		`{"a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}`:        "type LongStorage",
		`{"a":{"dtype":"BOOL","shape":[8],"data_offsets":[0,8]}}`:       `array "a": type "BOOL"`,
		`{"a":{"dtype":"F64","shape":[9999],"data_offsets":[0,79992]}}`: "truncated",
	} {
		must.Reject(parse(flat(header, make([]byte, 8)...)))(t, text)
	}
}

// Whatever the bytes are, tensors have as many values as their shapes say.
func FuzzFile(f *testing.F) {
	f.Add([]byte("\x34\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2]}}\x00\x3e"))
	f.Add(zipped(f, zip.Deflate, file{"a/data.pkl", []byte(whole(dictOf(text("a"), vector("HalfStorage", "0", 9))))}, file{"a/data/0", make([]byte, 18)}))
	f.Fuzz(func(t *testing.T, b []byte) {
		tensors, err := parse(b)
		if err != nil {
			return
		}
		for _, x := range tensors {
			checkSize(t, x)
		}
	})
}
