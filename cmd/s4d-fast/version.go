package main

import (
	"cmp"
	"fmt"
	"runtime"
	"strings"

	"github.com/klauspost/cpuid/v2"

	"github.com/s4d-fast/s4d-fast/internal/program"
	"github.com/s4d-fast/s4d-fast/level"
)

type versionCmd struct {
	Levels bool `help:"Print only the available kernel levels, slowest first."`
}

func (c *versionCmd) Run(std *streams) error {
	levels := level.Levels()
	if c.Levels {
		fmt.Fprintln(std.out, strings.Join(levels, " "))
		return nil
	}
	fmt.Fprintf(std.out, "s4d-fast %s (%s %s/%s)\n", cmp.Or(release, program.Version()), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	fmt.Fprintf(std.out, "processor  %s, %d logical cores\n", cmp.Or(cpuid.CPU.BrandName, "unknown processor"), runtime.NumCPU())
	fmt.Fprintf(std.out, "level      %s (available: %s)\n", level.Current(), strings.Join(levels, ", "))
	return nil
}

// release is the version and the commit of a release, which .ci/build sets.
var release string
