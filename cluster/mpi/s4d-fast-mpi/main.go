// Command s4d-fast-mpi trains a network on several machines. mpirun starts one process (rank) per
// machine or processor:
//
//	mpirun -np 4 s4d-fast-mpi train scifar --data cifar
//
// Rank 0 writes the run folder, which is that of s4d-fast train. docs/mpi.md describes the command.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/s4d-fast/s4d-fast/cluster/mpi"
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/train"
)

// Exit codes, as those of s4d-fast.
const (
	exitFailed   = 1
	exitUsage    = 2
	exitBadInput = 3
	exitDiverged = 4
)

type cli struct {
	Level string   `help:"Kernel level to use (default: the best one available). It must be the same on all ranks." placeholder:"LEVEL"`
	Train trainCmd `cmd:"" help:"Train a network on a task."`
}

func main() {
	rank := os.Getenv("OMPI_COMM_WORLD_RANK") // "": without mpirun
	out, errOut := io.Writer(os.Stdout), io.Writer(os.Stderr)
	if rank != "" && rank != "0" {
		out, errOut = io.Discard, io.Discard
	}
	var c cli
	parser := kong.Must(&c, kong.Name("s4d-fast-mpi"), kong.Vars{"patience": defaultPatience.String()}, kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Description("Train a network with several processes that mpirun starts. They give the bits of s4d-fast train with the same train.shards."),
		kong.Writers(out, errOut))
	_, err := parser.Parse(os.Args[1:])
	if err == nil {
		err = level.Set(c.Level)
	}
	if err != nil {
		err = usageError{err}
	}
	world, failed := mpi.Init(c.Train.Patience)
	if failed != nil {
		fmt.Fprintf(errOut, "s4d-fast-mpi: %v\n", errors.Join(err, failed))
		os.Exit(exitFailed)
	}
	os.Exit(run(&c.Train, world, err))
}

// usageError is an error in the arguments or the environment, an ErrConfig.
type usageError struct{ error }

func (usageError) Is(target error) bool { return target == train.ErrConfig }

// inputError is an error in a file, an ErrData.
type inputError struct{ error }

func (inputError) Is(target error) bool { return target == train.ErrData }

// run trains, unless a rank has a usage error, and returns the exit code. If only this rank failed,
// it ends all of them.
func run(c *trainCmd, world *mpi.World, usage error) int {
	ctx, stop := notifyContext()
	defer stop()
	err := agree(world, usage)
	if err == nil {
		err = c.run(ctx, world)
	}
	if code := exitCode(ctx, err); err != nil && !common(err) {
		fmt.Fprintf(os.Stderr, "s4d-fast-mpi: rank %d: %v\n", world.Rank(), err)
		mpi.Abort(code)
		return code
	} else if err != nil && world.Rank() == 0 {
		fmt.Fprintf(os.Stderr, "s4d-fast-mpi: %v\n", err)
	}
	if e := world.Finalize(); e != nil {
		fmt.Fprintf(os.Stderr, "s4d-fast-mpi: rank %d: %v\n", world.Rank(), e)
		return exitFailed
	}
	return exitCode(ctx, err)
}

// common reports whether all ranks have the error, or one that corresponds to it.
func common(err error) bool {
	return errors.As(err, new(agreed)) || errors.Is(err, train.ErrInterrupted) || errors.Is(err, train.ErrDiverged) || errors.Is(err, train.ErrData)
}

// agreed is an error on which the ranks have agreed.
type agreed struct{ error }

func (a agreed) Unwrap() error { return a.error }

// agree makes an error of one rank an error of all.
func agree(world *mpi.World, err error) error {
	if err = train.Agree(world, err); err != nil {
		return agreed{err}
	}
	return nil
}

func exitCode(ctx context.Context, err error) int {
	var s signalError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, train.ErrInterrupted):
		if errors.As(context.Cause(ctx), &s) {
			return 128 + int(s.Signal)
		}
		return 128 + int(syscall.SIGTERM) // that of another rank
	case errors.Is(err, train.ErrDiverged):
		return exitDiverged
	case errors.Is(err, train.ErrConfig):
		return exitUsage
	case errors.Is(err, train.ErrData):
		return exitBadInput
	}
	return exitFailed
}

type signalError struct{ syscall.Signal }

func (s signalError) Error() string {
	switch s.Signal {
	case syscall.SIGTERM:
		return "stopped by SIGTERM, which mpirun sends when a rank is lost or the job is stopped"
	case syscall.SIGUSR1:
		return "stopped by SIGUSR1"
	}
	return "stopped by Ctrl-C"
}

// notifyContext returns a context that a signal cancels with a signalError as its cause. mpirun
// sends SIGTERM when a rank is lost or when it is interrupted itself. It forwards SIGUSR1.
func notifyContext() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM, syscall.SIGUSR1)
	go func() {
		for s := range c {
			cancel(signalError{s.(syscall.Signal)})
		}
	}()
	return ctx, func() { signal.Stop(c); cancel(nil) }
}

// grace is the time for the ranks to agree to stop after a signal. A rank that is lost does not.
const grace = 5 * time.Second

// saveOn writes a checkpoint as soon as a signal comes, because mpirun ends the processes a second
// later, in the middle of a step.
func saveOn(ctx context.Context, t *train.Trainer, world *mpi.World) (stop func()) {
	stopped, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-stopped:
		case <-ctx.Done():
			cause := context.Cause(ctx)
			if !together(cause) {
				world.SetPatience(grace)
			}
			if message := save(cause, t); message != "" {
				fmt.Fprintf(os.Stderr, "s4d-fast-mpi: %s\n", message)
			}
		}
	}()
	return func() { close(stopped); <-done }
}

// together reports whether all ranks stop together after a signal, so that the error of Fit says
// how to resume. After other signals than SIGUSR1 a rank may be lost, or this process may be ended
// before.
func together(cause error) bool { return cause == signalError{syscall.SIGUSR1} }

// save writes a checkpoint if this rank has a run folder, and returns what to print.
func save(cause error, t *train.Trainer) (message string) {
	if t.Dir() == "" {
		return ""
	}
	if err := t.Checkpoint(); err != nil {
		return err.Error()
	}
	message = fmt.Sprintf("%v: wrote a checkpoint to %s", cause, t.Dir())
	if !together(cause) {
		message += howToResume(t)
	}
	return message
}

// threads returns the default number of threads: the processors that mpirun has bound this rank to,
// or else this rank's share of those of the machine.
func threads() int {
	n := runtime.NumCPU()
	local, err := strconv.Atoi(os.Getenv("OMPI_COMM_WORLD_LOCAL_SIZE"))
	if err != nil || local < 1 || n < mpi.Processors() {
		return n
	}
	return max(1, n/local)
}

// reporter returns the reporter of a rank: rank 0 logs progress, other ranks have none. It is a
// variable because tests replace it. They use the context of the run.
var reporter = func(_ context.Context, rank int) train.Reporter {
	if rank > 0 {
		return nil
	}
	return train.LogLines(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey && len(groups) == 0 {
			return slog.Attr{}
		}
		return a
	}})))
}

// defaultPatience is longer than any step or any reading of examples should take.
const defaultPatience = 10 * time.Minute
