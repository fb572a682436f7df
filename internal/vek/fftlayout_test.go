package vek

import (
	"testing"
	"unsafe"
)

// Assembly reads the fields of FFTPass at these offsets (asm/ffttransform.go).
func TestFFTPassLayout(t *testing.T) {
	var p FFTPass
	got := [6]uintptr{unsafe.Offsetof(p.radix), unsafe.Offsetof(p.q), unsafe.Offsetof(p.count), unsafe.Offsetof(p.tw), unsafe.Offsetof(p.turn), unsafe.Sizeof(p)}
	if want := [6]uintptr{0, 8, 16, 24, 48, 56}; got != want && unsafe.Sizeof(p.q) == 8 {
		t.Errorf("offsets of radix, q, count, tw and turn, and the size: %d, expected %d", got, want)
	}
}
