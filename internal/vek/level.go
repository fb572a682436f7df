package vek

import (
	"fmt"
	"os"
	"slices"
	"sync/atomic"
)

// Level names a set of kernels for one kind of processor.
type Level string

const (
	Generic Level = "generic" // plain Go, everywhere
	AVX2    Level = "avx2"    // amd64 with AVX2 and FMA
	AVX512  Level = "avx512"  // amd64 with AVX-512 F, DQ, BW and VL
	NEON    Level = "neon"    // arm64
	AMX     Level = "amx"     // AVX512, and AMX for the products that ask for it with Split
)

// isa is a level as the kernels' switches read it.
type isa int

const (
	generic isa = iota
	avx2
	avx512
	neon
	amx // for products that ask for it; other kernels' switches read avx512
)

var names = [...]Level{generic: Generic, avx2: AVX2, avx512: AVX512, neon: NEON, amx: AMX}

var (
	selected       atomic.Int32 // the isa in use
	environmentErr error        // an S4D_LEVEL that is not available; written by init alone
	overridden     atomic.Bool  // SetLevel has succeeded since
)

// The strongest level but AMX is in use unless the environment names another.
func init() {
	levels := append([]Level{Generic}, assemblyLevels()...)
	selected.Store(int32(isaOf(levels[len(levels)-1])))
	if name := os.Getenv("S4D_LEVEL"); name != "" {
		if err := checkLevel(Level(name)); err != nil {
			environmentErr = fmt.Errorf("vek: environment variable S4D_LEVEL: %w", err)
			return
		}
		selected.Store(int32(isaOf(Level(name))))
	}
}

// current returns the level in use as the kernels' switches read it.
func current() isa {
	if i := isa(selected.Load()); i != amx {
		return i
	}
	return avx512
}

// splits reports whether products that ask for it split their factors.
func splits() bool { return isa(selected.Load()) == amx }

// lanes returns the number of floats of a level's vectors.
func (i isa) lanes() int { return [...]int{generic: 1, avx2: 8, avx512: 16, neon: 4}[i] }

func isaOf(l Level) isa { return isa(slices.Index(names[:], l)) }

func checkLevel(l Level) error {
	if !slices.Contains(Levels(), l) {
		return fmt.Errorf("level %q is not available on this machine, expected one of %v", l, Levels())
	}
	return nil
}

// Levels lists the levels available on this machine, weakest first.
func Levels() []Level { return slices.Concat([]Level{Generic}, assemblyLevels(), matrixLevels()) }

// CurrentLevel returns the level in use.
func CurrentLevel() Level { return names[selected.Load()] }

// SetLevel selects a level for the whole process. It may be called from any goroutine, but not
// while a kernel runs: matrices that are packed for one level cannot be read by another's kernels.
func SetLevel(l Level) error {
	if err := checkLevel(l); err != nil {
		return fmt.Errorf("vek: %w", err)
	}
	selected.Store(int32(isaOf(l)))
	overridden.Store(true)
	return nil
}

// StartupErr returns an error if the environment variable S4D_LEVEL names a level that is not
// available here, unless SetLevel has chosen another since. Constructors of public packages return
// it, so that no program runs at a level that its user did not ask for.
func StartupErr() error {
	if overridden.Load() {
		return nil
	}
	return environmentErr
}
