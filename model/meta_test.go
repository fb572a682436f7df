package model

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
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
	m := forecaster(t)
	m.Meta.Series.Columns[0] = "\xe9"
	must.Reject(m.WriteTo(new(bytes.Buffer)))(t, "model: meta: ", "UTF-8")
}
