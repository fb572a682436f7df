package model

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/internal/safetensors"
)

// regression returns a model of two outputs whose targets are standardised.
func regression(t *testing.T) *Model {
	t.Helper()
	c := tiny()
	c.DOutput = 2
	m := mustNew(t, c, 1)
	m.Meta = Meta{TargetMean: []float32{1000, -3}, TargetStd: []float32{5, 0.25}, Data: Settings{"data.max_len": int64(5000), "seed": int64(0)}}
	return m
}

func TestTargetsAndDataSettings(t *testing.T) {
	m := regression(t)
	got, err := Read(bytes.NewReader(encode(t, m)))
	if err != nil || !reflect.DeepEqual(got.Meta, m.Meta) {
		t.Fatalf("read %+v, wrote %+v; error %v", got, m.Meta, err)
	}
	weight, bias := m.OutputDecoder()
	h := m.Config.DModel
	for o, std := range m.Meta.TargetStd {
		expected := float64(m.Weights.DecoderBias[o])*float64(std) + float64(m.Meta.TargetMean[o])
		if math.Abs(float64(bias[o])-expected) > 1e-4 {
			t.Errorf("output %d: bias %v, expected %v", o, bias[o], expected)
		}
		must.Equal(t, weight[o*h+1], m.Weights.DecoderWeight[o*h+1]*std, "output %d: weight", o)
	}
	hash := m.Hash()
	m.Meta.TargetMean[1]++
	if m.Hash() == hash {
		t.Error("the hash does not depend on the targets' mean")
	}
}

func TestBadTargets(t *testing.T) {
	for name, change := range map[string]func(m *Meta){
		"one mean":     func(m *Meta) { m.TargetMean = m.TargetMean[:1] },
		"no deviation": func(m *Meta) { m.TargetStd = nil },
		"of one":       func(m *Meta) { m.TargetMean, m.TargetStd = m.TargetMean[:1], m.TargetStd[:1] },
		"with labels":  func(m *Meta) { m.Labels = []string{"a", "b"} },
		"NaN":          func(m *Meta) { m.TargetMean[1] = float32(math.NaN()) },
		"deviation 0":  func(m *Meta) { m.TargetStd[0] = 0 },
	} {
		m := regression(t)
		change(&m.Meta)
		if _, err := m.WriteTo(new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "target") {
			t.Errorf("%s: error %v, expected one about targets", name, err)
		}
	}
}

// JSON replaces bytes that are not UTF-8, so that different labels would be read as equal ones.
func TestTextsAreUTF8(t *testing.T) {
	for want, change := range map[string]func(m *Meta){
		`task "\xe9": expected UTF-8`:   func(m *Meta) { m.Task = "\xe9" },
		`label "\xe8": expected UTF-8`:  func(m *Meta) { m.TargetMean, m.TargetStd, m.Labels = nil, nil, []string{"\xe8"} },
		`column "\xe9": expected UTF-8`: func(m *Meta) { m.Series.Columns[0] = "\xe9" },
		`target "\xe9": expected UTF-8`: func(m *Meta) { m.Series.Targets[0] = "\xe9" },
		`column "\xff": expected UTF-8`: func(m *Meta) { m.Series.Time = "\xff" },
	} {
		m := forecaster(t)
		change(&m.Meta)
		_, err := m.WriteTo(new(bytes.Buffer))
		must.Fail(t, err, "model: meta: ", want)
	}
}

// The largest metadata that Validate accepts can be read from a file, whatever their characters.
func TestLargestMeta(t *testing.T) {
	c := tiny()
	c.DOutput = 7000
	m := mustNew(t, c, 1)
	for i := range c.DOutput {
		m.Meta.Labels = append(m.Meta.Labels, strings.Repeat(`"`, 440)+strconv.Itoa(i))
	}
	got := must.Get(Read(bytes.NewReader(encode(t, m))))(t)
	must.Equal(t, got.Hash(), m.Hash(), "hash")
	for i := range m.Meta.Labels {
		m.Meta.Labels[i] = strings.Repeat(m.Meta.Labels[i], 2)
	}
	must.Fail(t, m.Meta.Validate(c), "model: meta: ", "bytes as JSON, expected at most 6291456")
	var b bytes.Buffer
	must.Reject(m.WriteTo(&b))(t, "bytes as JSON")
	must.Equal(t, b.Len(), 0, "bytes written")
}

// Metadata longer than the limit are rejected before they are decoded. Shorter ones allocate at
// most 128 bytes per byte.
func TestMetadataBounds(t *testing.T) {
	const size = 1 << 18
	for what, text := range map[string][2]string{
		"labels": {`{"labels":["%s"]}`, `","`}, "means": {`{"input_mean":[0%s]}`, ",0"}, "data": {`{"data":{"a":[0%s]}}`, ",0"},
		"offsets": {`{"detection":{"offsets":[0%s]}}`, ",0"}, "columns": {`{"series":{"columns":["%s"]}}`, `","`},
	} {
		meta := fmt.Sprintf(text[0], strings.Repeat(text[1], size/len(text[1])))
		must.Allocates(t, 128*len(meta), func() { must.Do(t, strictJSON(meta, new(Meta))) }, "%s", what)
	}
	f := must.Get(safetensors.Read(bytes.NewReader(encode(t, mustNew(t, tiny(), 1)))))(t)
	f.Metadata[metaKey] = "{}" + strings.Repeat(" ", maxMeta-1)
	var b bytes.Buffer
	must.Get(f.WriteTo(&b))(t)
	must.Reject(Read(&b))(t, `metadata "meta": 6291457 bytes, expected at most 6291456`)
}
