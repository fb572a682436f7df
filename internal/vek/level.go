package vek

import (
	"fmt"
	"os"
	"slices"
)

// Level names a set of kernels for one kind of processor.
type Level string

const (
	Generic Level = "generic" // plain Go, everywhere
	AVX2    Level = "avx2"    // amd64 with AVX2 and FMA
	AVX512  Level = "avx512"  // amd64 with AVX-512 F, DQ, BW and VL
	NEON    Level = "neon"    // arm64
)

// isa is a level as the kernels' switches read it.
type isa int

const (
	generic isa = iota
	avx2
	avx512
	neon
)

var names = [...]Level{generic: Generic, avx2: AVX2, avx512: AVX512, neon: NEON}

var (
	current    isa
	startupErr error
)

// The strongest level is in use unless the environment names another.
func init() {
	levels := Levels()
	current = isa(slices.Index(names[:], levels[len(levels)-1]))
	if name := os.Getenv("S4D_LEVEL"); name != "" {
		startupErr = SetLevel(Level(name))
	}
}

// Levels lists the levels available on this machine, weakest first.
func Levels() []Level { return append([]Level{Generic}, assemblyLevels()...) }

// CurrentLevel returns the level in use.
func CurrentLevel() Level { return names[current] }

// SetLevel selects a level for the whole process; it must not run beside kernels.
func SetLevel(l Level) error {
	if !slices.Contains(Levels(), l) {
		return fmt.Errorf("vek: level %q is not available here; available: %v", l, Levels())
	}
	current = isa(slices.Index(names[:], l))
	return nil
}

// StartupErr reports an S4D_LEVEL in the environment that is not available here.
func StartupErr() error { return startupErr }
