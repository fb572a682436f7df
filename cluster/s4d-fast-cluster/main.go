// Command s4d-fast-cluster trains the runs of a sweep on several machines: sweep distributes them,
// and each worker trains one at a time. docs/cluster.md describes the command.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/s4d-fast/s4d-fast/internal/sweepflags"
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/train"
)

// Exit codes, as those of s4d-fast.
const (
	exitOK       = 0
	exitFailed   = 1
	exitUsage    = 2
	exitBadInput = 3
	// 128 + signal after an interrupt
)

type cli struct {
	Level string `help:"Kernel level of a worker (default: the best one available)." placeholder:"LEVEL"`

	Sweep  sweepCmd  `cmd:"" help:"Distribute a grid of configurations to workers, and write a table of the results."`
	Worker workerCmd `cmd:"" help:"Train runs of sweeps that another machine distributes."`
}

// console is where a command prints. Tests replace it.
type console struct {
	out, err io.Writer
	terminal bool // err is a terminal
}

func main() {
	ctx := notifyContext()
	terminal := term.IsTerminal(int(os.Stderr.Fd()))
	os.Exit(run(ctx, os.Args[1:], &console{out: os.Stdout, err: os.Stderr, terminal: terminal}))
}

// run executes a command line and returns its exit code. Cancelling ctx with the cause signalError
// stops it as that signal does.
func run(ctx context.Context, args []string, std *console) int {
	var c cli
	exited := false
	parser := kong.Must(&c, kong.Name("s4d-fast-cluster"), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Description("Train the runs of a sweep on several machines, which communicate through a NATS server."),
		kong.Vars(sweepflags.Variables()), kong.Writers(std.out, std.err), kong.Exit(func(int) { exited = true }))
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if exited { // by --help
		return exitOK
	}
	if err == nil {
		err = level.Set(c.Level)
	}
	code := exitUsage
	if err == nil {
		err = parsed.Run(std, &box{ctx})
		code = exitCode(ctx, err)
	}
	if err != nil {
		fmt.Fprintln(std.err, "s4d-fast-cluster:", err)
		return code
	}
	return exitOK
}

// box lets kong bind a context to commands.
type box struct{ context.Context }

func exitCode(ctx context.Context, err error) int {
	var s signalError
	switch {
	case errors.Is(err, train.ErrInterrupted) && errors.As(context.Cause(ctx), &s):
		return 128 + int(s.Signal)
	case errors.Is(err, train.ErrConfig):
		return exitUsage
	case errors.Is(err, train.ErrData):
		return exitBadInput
	}
	return exitFailed
}

type signalError struct{ syscall.Signal }

func (s signalError) Error() string { return "stopped by " + s.Signal.String() }

// notifyContext returns a context that SIGINT or SIGTERM cancels with a signalError as its cause. A
// second signal ends the process at once.
func notifyContext() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-c
		signal.Stop(c)
		cancel(signalError{s.(syscall.Signal)})
	}()
	return ctx
}

// newLog returns a log without times.
func newLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey && len(groups) == 0 {
			return slog.Attr{}
		}
		return a
	}}))
}
