package model

import (
	"bytes"
	"encoding/binary"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/ssm"
)

// Layers of every scheme are written and read back bit by bit.
func TestSchemesSurviveAFile(t *testing.T) {
	for name, change := range map[string]func(c *ssm.Config){
		"Lin, tied, B trained, bidirectional": func(c *ssm.Config) {
			c.Init, c.NSSM, c.TrainB, c.Bidirectional = ssm.Lin, 3, true, true
		},
		"Lin on the unit circle":   func(c *ssm.Config) { c.Init, c.AReal = ssm.Lin, 0 },
		"DFouT on the unit circle": func(c *ssm.Config) { c.AReal = 0 },
		"Inv, bilinear, truncated": func(c *ssm.Config) { c.Init, c.Disc, c.LMax = ssm.Inv, ssm.Bilinear, 5 },
		"LegS with its own B":      func(c *ssm.Config) { c.Init, c.Bidirectional = ssm.LegS, true },
		"bounds with many digits":  func(c *ssm.Config) { c.XiMin, c.XiMax, c.AReal = 1.0/3e5, math.Pi/30, math.Sqrt2/2 },
	} {
		c := tiny()
		change(&c.SSM)
		m := mustNew(t, c, 11)
		for _, l := range m.Weights.Layers {
			circle := !slices.ContainsFunc(l.Decay, func(v float32) bool { return !math.IsInf(float64(v), -1) })
			if circle != (c.SSM.AReal == 0) {
				t.Errorf("%s: log decays %v", name, l.Decay)
			}
		}
		path := filepath.Join(t.TempDir(), "m.safetensors")
		if err := m.Save(path); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := Load(path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.Config != c {
			t.Errorf("%s: configuration %+v, expected %+v", name, got.Config, c)
		}
		if !slices.EqualFunc(got.Weights.Flat(), m.Weights.Flat(), sameBits) {
			t.Errorf("%s: other weights come back", name)
		}
		must.Equal(t, got.Hash(), m.Hash(), "%s: hash", name)
		if !bytes.Equal(encode(t, got), encode(t, m)) {
			t.Errorf("%s: written again, the file differs", name)
		}
	}
}

func sameBits(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }

// eachField calls f for every field of the configuration that a file holds.
func eachField(v reflect.Value, prefix string, f func(name string, v reflect.Value)) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		switch {
		case field.Tag.Get("json") == "-": // the SSM's width is the network's
		case v.Field(i).Kind() == reflect.Struct:
			eachField(v.Field(i), prefix+field.Name+".", f)
		default:
			f(prefix+field.Name, v.Field(i))
		}
	}
}

// A change of any field of the configuration, or of the last bit of any tensor, changes the hash.
func TestHashOfEverything(t *testing.T) {
	for variant, c := range variants() {
		m := mustNew(t, c, 1)
		seen := map[[32]byte]string{m.Hash(): "the model itself"}
		add := func(what string) {
			h := m.Hash()
			if other, ok := seen[h]; ok {
				t.Errorf("%s: %s has the hash of %s", variant, what, other)
			}
			seen[h] = what
		}
		eachField(reflect.ValueOf(&m.Config).Elem(), "", func(name string, v reflect.Value) {
			old := reflect.ValueOf(v.Interface())
			switch v.Kind() {
			case reflect.String:
				v.SetString(v.String() + "x")
			case reflect.Int:
				v.SetInt(v.Int() + 1)
			case reflect.Float64:
				v.SetFloat(math.Nextafter(v.Float(), 9))
			case reflect.Bool:
				v.SetBool(!v.Bool())
			default:
				t.Fatalf("%s: a field of kind %s", name, v.Kind())
			}
			add(name)
			v.Set(old)
		})
		for _, x := range m.Weights.Tensors() {
			for _, i := range []int{0, len(x.Data) - 1} {
				old := x.Data[i]
				x.Data[i] = math.Float32frombits(math.Float32bits(old) ^ 1)
				add(x.Name + " " + map[bool]string{true: "first", false: "last"}[i == 0])
				x.Data[i] = old
			}
		}
		if m.Config != c {
			t.Errorf("%s: the test did not put everything back: configuration %+v, expected %+v", variant, m.Config, c)
		}
		must.Equal(t, m.Hash(), mustNew(t, c, 1).Hash(), "%s: hash after the test has put everything back", variant)
	}
}

// Files that declare a header longer than the file or the limit are rejected at once, in little
// memory.
func TestAbsurdHeaders(t *testing.T) {
	whole := smallest(t)
	for _, n := range []uint64{0, 1, 16 << 20, 16<<20 + 1, 1 << 31, 1 << 40, 1 << 62, 1 << 63, math.MaxUint64, math.MaxUint64 - 7} {
		b := append(binary.LittleEndian.AppendUint64(nil, n), whole[8:]...)
		var err error
		used := must.Allocated(func() { _, err = Read(bytes.NewReader(b)) })
		if err == nil || !strings.HasPrefix(err.Error(), "model: safetensors: header") {
			t.Errorf("length %d: error %v", n, err)
		}
		if used > 1<<20 {
			t.Errorf("length %d: %d bytes allocated", n, used)
		}
	}
}
