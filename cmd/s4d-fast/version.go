package main

import (
	"cmp"
	"fmt"
	"runtime"
	"strings"

	"github.com/klauspost/cpuid/v2"

	"github.com/s4d-fast/s4d-fast/internal/program"
	"github.com/s4d-fast/s4d-fast/internal/vek"
)

type versionCmd struct {
	Levels bool `help:"Print only the available kernel levels, slowest first."`
}

func (c *versionCmd) Run(std *streams) error {
	var levels []string
	for _, l := range vek.Levels() {
		levels = append(levels, string(l))
	}
	if c.Levels {
		fmt.Fprintln(std.out, strings.Join(levels, " "))
		return nil
	}
	fmt.Fprintf(std.out, "s4d-fast %s (%s %s/%s)\n", cmp.Or(release, program.Version()), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	fmt.Fprintf(std.out, "processor  %s, %d logical cores\n", processor(), runtime.NumCPU())
	fmt.Fprintf(std.out, "caches     %s\n", caches())
	fmt.Fprintf(std.out, "level      %s (available: %s)\n", vek.CurrentLevel(), strings.Join(levels, ", "))
	return nil
}

// release is the version and the commit of a release, which .ci/build sets.
var release string

// caches lists the sizes of a core's caches, smallest first.
func caches() string {
	c := cpuid.CPU.Cache
	var known []string
	for i, bytes := range []int{c.L1D, c.L2, c.L3} {
		if bytes > 0 {
			known = append(known, fmt.Sprintf("L%d %d KiB", i+1, bytes/1024))
		}
	}
	if known == nil {
		return "unknown"
	}
	return strings.Join(known, ", ")
}

// processor returns the name of the machine's processor.
func processor() string {
	if cpuid.CPU.BrandName == "" {
		return "unknown processor"
	}
	return cpuid.CPU.BrandName
}
