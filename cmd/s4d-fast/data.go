package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/s4d-fast/s4d-fast/train/dataset"
)

// dataCmd makes data sets.
type dataCmd struct {
	Listops    dataListOpsCmd    `cmd:"" help:"Make ListOps: expressions over digits, in the layout of the Long Range Arena."`
	Pathfinder dataPathfinderCmd `cmd:"" help:"Make Pathfinder or Path-X: pictures of dashed contours, in the layout of the Long Range Arena."`
}

type dataListOpsCmd struct {
	Out  string `help:"Folder to write. One that holds other data of this kind is refused; what the same command has made there is made again." required:"" type:"path" placeholder:"DIR"`
	N    int    `help:"Training expressions." default:"96000"`
	Eval int    `help:"Validation expressions, and as many for the test." default:"2000"`
	Seed uint64 `help:"Seed." default:"1"`
}

func (c *dataListOpsCmd) Help() string {
	return `Example:
  s4d-fast data listops --out data/listops --n 20000
  s4d-fast train listops --data data/listops`
}

func (c *dataListOpsCmd) Run(std *streams, ctx *ctxBox) error {
	if c.N < 1 || c.Eval < 1 {
		return usageError(fmt.Errorf("--n %d, --eval %d: want at least 1", c.N, c.Eval))
	}
	return dataError(dataset.WriteListOps(ctx, c.Out, c.N, c.Eval, c.Seed, func(path string, n int) {
		fmt.Fprintf(std.err, "wrote %s: %d expressions\n", path, n)
	}))
}

// dataError gives a folder that holds something else the exit code of a wrong --out.
func dataError(err error) error {
	if errors.Is(err, os.ErrExist) {
		return usageError(err)
	}
	return err
}

type dataPathfinderCmd struct {
	Out  string `help:"Folder to write. One that holds other data of this kind is refused; what the same command has made there is made again." required:"" type:"path" placeholder:"DIR"`
	N    int    `help:"Images." default:"200000"`
	Size int    `help:"Pixels of a side: 32 for the task pathfinder, 128 for pathx128, 256 for pathx256." enum:"32,128,256" default:"32"`
	Seed uint64 `help:"Seed." default:"1"`
}

func (c *dataPathfinderCmd) Help() string {
	return `Example:
  s4d-fast data pathfinder --out data/pathfinder --n 20000
  s4d-fast train pathfinder --data data/pathfinder`
}

func (c *dataPathfinderCmd) Run(std *streams, ctx *ctxBox) error {
	if c.N < 1 {
		return usageError(fmt.Errorf("--n %d: want at least 1", c.N))
	}
	return dataError(dataset.WritePathfinder(ctx, c.Out, c.Size, c.N, c.Seed, func(path string, images int) {
		fmt.Fprintf(std.err, "wrote %s: %d images\n", path, images)
	}))
}
