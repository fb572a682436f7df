package pth

import (
	"archive/zip"
	"strings"
	"testing"
	"time"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Pickles that make the unpickler hash a long key or copy a large dictionary many times are
// rejected quickly.
func TestNoEndlessWork(t *testing.T) {
	long := text(repeated("k", 3<<20)) + "q\x02"
	entries := "}(" + repeated("\x8c\x01aN", 100_000) + "u"
	tests := []struct{ name, body, want string }{
		{"long key", orderedDict + long + "Ns" + repeated("h\x02Ns", 100_000), "a string of 3145728 bytes, expected at most 4096"},
		{"longest key", orderedDict + text(repeated("k", maxText)) + "q\x02Ns" + repeated("h\x02Ns", 150_000), "a key is not a string"},
		{"many builds", orderedDict + "q\x01" + entries + "q\x02b" + repeated("h\x02b", 100_000), "BUILD opcodes, expected a state dict"},
		{"some builds", orderedDict + "q\x01" + entries + "q\x02b" + repeated("h\x02b", maxBuilds-1) + "s", "malformed pickle"},
	}
	for _, tt := range tests {
		b := checkpoint(t, whole(tt.body))
		start := time.Now()
		_, err := Parse(b)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, expected one that says %q", tt.name, err, tt.want)
		}
		if took := time.Since(start); took > 20*time.Second { // minutes without the bounds
			t.Errorf("%s: %v", tt.name, took)
		}
	}
}

// The unpickler's messages contain whole objects. Our error is short and takes little memory.
func TestShortMessages(t *testing.T) {
	const values = 1 << 20
	tests := map[string][]byte{
		"storage called":         checkpoint(t, whole(storage("FloatStorage", "0", values)+")R"), make([]byte, 4*values)),
		"storage as an argument": checkpoint(t, whole("ccollections\nOrderedDict\n"+storage("FloatStorage", "0", values)+"\x85R"), make([]byte, 4*values)),
		"storage as state":       checkpoint(t, whole(storage("FloatStorage", "0", values)+"}b"), make([]byte, 4*values)),
		"list called":            checkpoint(t, whole("]("+repeated("N", 100_000)+"e)R")),
		"list in itself":         checkpoint(t, whole("]q\x01h\x01a)R")),
		"text called":            checkpoint(t, whole(text(repeated("ä", 2000))+")R")),
		"name of an entry":       zipped(t, zip.Deflate, file{repeated("x", 60_000), []byte("x")}),
	}
	for name, b := range tests {
		var err error
		used := must.Allocated(func() { _, err = Parse(b) })
		if err == nil || len(err.Error()) > 600 {
			t.Errorf("%s: error %.100v…, expected a short one", name, err)
		}
		if used > 64<<20 {
			t.Errorf("%s: %d bytes allocated", name, used)
		}
	}
}

// Only tensors of the state dict are checked, and the error names them.
func TestLayoutIsCheckedByName(t *testing.T) {
	odd := tensor(storage("FloatStorage", "0", 6), 0, []int{2, 3}, []int{1, 3})
	good := tensor(storage("FloatStorage", "0", 6), 4, []int{2}, []int{1})
	data := floats(1, 2, 3, 4, 5, 6)
	got, err := Parse(checkpoint(t, whole(dict(text("best"), odd, text("model"), dict(text("a"), good))), data))
	if err != nil || len(got) != 1 || !same(got[0], Tensor{"a", []int{2}, []float32{5, 6}, false}) {
		t.Errorf("got %v, %v", got, err)
	}
	_, err = Parse(checkpoint(t, whole(dict(text("a"), good, text("b"), odd)), data))
	if err == nil || err.Error() != `tensor "b": shape [2 3] with strides [1 3] at 0 lies outside its storage of 6` {
		t.Errorf("error %v", err)
	}
}

// Two names that differ only by the prefix "module." give two tensors of the same name.
func TestPrefixKeepsBoth(t *testing.T) {
	one := vector("FloatStorage", "0", 1)
	got, err := Parse(checkpoint(t, whole(dict(text("a"), one, text("module.a"), one)), floats(1)))
	if err != nil || len(got) != 2 || got[0].Name != "a" || got[1].Name != "a" {
		t.Errorf("got %v, %v", got, err)
	}
}

// Objects beside the state dict are skipped, with their states and items. A count among the buffers
// is a tensor.
func TestForeignObjects(t *testing.T) {
	object := func(class string) string { return class + ")\x81}(" + text("x") + "K\x01ub" }
	body := dict(
		text("hyper_parameters"), object("comegaconf.dictconfig\nDictConfig\n"),
		text("metadata"), "ccollections\ndefaultdict\n"+tuple("c__builtin__\ndict\n")+"R"+text("k")+"ctyping\nAny\ns",
		text("state_dict"), dict(text("a"), vector("FloatStorage", "0", 1), text("n"), tensor(storage("LongStorage", "1", 1), 0, nil, nil)),
	)
	got, err := Parse(checkpoint(t, whole(body), floats(2.5), []byte{96, 0, 0, 0, 0, 0, 0, 0}))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Tensor{{"a", []int{1}, []float32{2.5}, false}, {"n", []int{}, []float32{96}, true}} {
		if !same(got[i], want) {
			t.Errorf("%v, expected %v", got[i], want)
		}
	}
	_, err = Parse(checkpoint(t, whole(dict(text("state_dict"), object("comegaconf.dictconfig\nDictConfig\n")))))
	if err == nil || !strings.Contains(err.Error(), `"state_dict" is not a dictionary`) {
		t.Errorf("an object as the state dict: error %v", err)
	}
}
