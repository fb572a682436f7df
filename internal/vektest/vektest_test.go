package vektest

import (
	"slices"
	"strings"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/vek"
)

func TestChoose(t *testing.T) {
	two := []vek.Level{"generic", "wide"}
	for _, test := range []struct {
		forced, required string
		want             []vek.Level
		err              string
	}{
		{"", "", two, ""},
		{"wide", "", two[1:], ""},
		{"wide", "generic, wide", two[1:], ""},
		{"", "generic,wider", nil, `S4D_REQUIRE_LEVELS: level "wider" is missing; available: [generic wide]`},
		{"wider", "", nil, `S4D_LEVEL: level "wider" is missing; available: [generic wide]`},
	} {
		got, err := choose(test.forced, test.required, two)
		if !slices.Equal(got, test.want) || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("choose(%q, %q) = %v, %v, expected %v, %q", test.forced, test.required, got, err, test.want, test.err)
		}
	}
}
