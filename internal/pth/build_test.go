package pth

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// file is one entry of a zip file.
type file struct {
	name string
	data []byte
}

// zipped packs entries as PyTorch does: stored, with checksums.
func zipped(t testing.TB, method uint16, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		w := must.Get(z.CreateHeader(&zip.FileHeader{Name: f.name, Method: method}))(t)
		must.Get(w.Write(f.data))(t)
	}
	must.Do(t, z.Close())
	return b.Bytes()
}

// checkpoint packs a pickle and its storages, the first under key "0".
func checkpoint(t testing.TB, pickle string, storages ...[]byte) []byte {
	files := []file{{"ckpt/data.pkl", []byte(pickle)}, {"ckpt/byteorder", []byte("little")}}
	for i, s := range storages {
		files = append(files, file{"ckpt/data/" + string(rune('0'+i)), s})
	}
	return zipped(t, zip.Store, files...)
}

// parse reads all tensors of the last state dict.
func parse(b []byte) ([]Tensor, error) {
	return Parse(bytes.NewReader(b), int64(len(b)), func(s []State) (State, error) { return s[len(s)-1], nil })
}

func floats(v ...float32) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func doubles(v ...float64) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

// The pieces of a pickle, protocol 2.
const (
	orderedDict = "ccollections\nOrderedDict\n)R"
	end         = "."
)

func whole(body string) string { return "\x80\x02" + body + end }

func text(s string) string {
	return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
}

func integer(n int) string {
	return "J" + string(binary.LittleEndian.AppendUint32(nil, uint32(n)))
}

func tupleOf(items ...string) string { return "(" + strings.Join(items, "") + "t" }

func integers(n ...int) string {
	var s []string
	for _, v := range n {
		s = append(s, integer(v))
	}
	return tupleOf(s...)
}

// dict takes keys and values alternately.
func dictOf(items ...string) string { return "}(" + strings.Join(items, "") + "u" }

func storageOf(class, key string, count int) string {
	return tupleOf(text("storage"), "ctorch\n"+class+"\n", text(key), text("cpu"), integer(count)) + "Q"
}

func tensor(storage string, offset int, shape, stride []int) string {
	return "ctorch._utils\n_rebuild_tensor_v2\n" +
		tupleOf(storage, integer(offset), integers(shape...), integers(stride...), "\x89", orderedDict) + "R"
}

// withMetadata is a tensor of one element with the metadata of PyTorch 2.
func withMetadata(class string, items ...string) string {
	t := tensor(storageOf(class, "0", 1), 0, []int{1}, []int{1})
	return strings.TrimSuffix(t, "tR") + dictOf(items...) + "tR"
}

// vector is a tensor of one dimension that fills its storage.
func vector(class, key string, n int) string {
	return tensor(storageOf(class, key, n), 0, []int{n}, []int{1})
}

// repeated is p, n times.
func repeated(p string, n int) string { return string(bytes.Repeat([]byte(p), n)) }

func same(a, b Tensor) bool {
	return a.Name == b.Name && a.Count == b.Count && slices.Equal(a.Shape, b.Shape) && slices.Equal(a.Data, b.Data)
}
