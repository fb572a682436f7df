// Command s4d-fast-cluster trains the runs of a sweep on several machines: sweep distributes them,
// and each worker trains one at a time. docs/cluster.md describes the command.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/s4d-fast/s4d-fast/internal/configflags"
	"github.com/s4d-fast/s4d-fast/internal/program"
	"github.com/s4d-fast/s4d-fast/level"
)

type cli struct {
	Level string `help:"Kernel level of a worker (default: the best one available except amx)." placeholder:"LEVEL"`

	Sweep  sweepCmd  `cmd:"" help:"Distribute a grid of configurations to workers, and write a table of the results."`
	Worker workerCmd `cmd:"" help:"Train runs of sweeps that another machine distributes."`
}

// console is where a command prints. Tests replace it.
type console struct {
	out, err io.Writer
	terminal bool // err is a terminal
}

func main() {
	terminal := term.IsTerminal(int(os.Stderr.Fd()))
	os.Exit(run(program.Context(), os.Args[1:], &console{out: os.Stdout, err: os.Stderr, terminal: terminal}))
}

// run executes a command line and returns its exit code. Cancelling ctx with the cause
// program.Signal stops it as that signal does.
func run(ctx context.Context, args []string, std *console) int {
	var c cli
	exited := false
	parser := kong.Must(&c, kong.Name("s4d-fast-cluster"), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Description("Train the runs of a sweep on several machines, which communicate through a NATS server."),
		kong.Vars(configflags.Variables()), kong.Writers(std.out, std.err), kong.Exit(func(int) { exited = true }))
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if exited { // by --help
		return program.OK
	}
	if err == nil {
		err = level.Set(c.Level)
	}
	code := program.Usage
	if err == nil {
		parsed.BindTo(ctx, (*context.Context)(nil))
		err = parsed.Run(std)
		code = configflags.ExitCode(ctx, err)
	}
	if err != nil {
		fmt.Fprintln(std.err, "s4d-fast-cluster:", err)
		return code
	}
	return program.OK
}
