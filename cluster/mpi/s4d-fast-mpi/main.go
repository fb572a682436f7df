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
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/s4d-fast/s4d-fast/cluster/mpi"
	"github.com/s4d-fast/s4d-fast/internal/configflags"
	"github.com/s4d-fast/s4d-fast/internal/program"
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/train"
)

type cli struct {
	Level string   `help:"Kernel level to use (default: the best one available except amx). It must be the same on all ranks." placeholder:"LEVEL"`
	Train trainCmd `cmd:"" help:"Train a network on a task."`
}

func main() {
	rank := os.Getenv("OMPI_COMM_WORLD_RANK") // "": without mpirun
	out, errOut := io.Writer(os.Stdout), io.Writer(os.Stderr)
	if rank != "" && rank != "0" {
		out, errOut = io.Discard, io.Discard
	}
	var c cli
	parser := kong.Must(&c, kong.Name("s4d-fast-mpi"), kong.Vars(configflags.Variables()), kong.Vars{"patience": defaultPatience.String()}, kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Description("Train a network with several processes that mpirun starts. They give the bits of s4d-fast train with the same train.shards."),
		kong.Writers(out, errOut))
	_, err := parser.Parse(os.Args[1:])
	if err == nil {
		err = level.Set(c.Level)
	}
	if err != nil {
		err = train.ConfigError(err)
	}
	world, failed := mpi.Init(c.Train.Patience)
	if failed != nil {
		fmt.Fprintf(errOut, "s4d-fast-mpi: %v\n", errors.Join(err, failed))
		os.Exit(program.Failed)
	}
	os.Exit(run(&c.Train, world, err))
}

// run trains, unless a rank has a usage error, and returns the exit code. mpirun sends SIGTERM when
// a rank is lost or when it is interrupted itself, and forwards SIGUSR1.
func run(c *trainCmd, world *mpi.World, usage error) int {
	ctx := program.Context(syscall.SIGUSR1)
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM) // a second one does not end the process
	err := agree(ctx, world, usage)
	if err == nil {
		err = c.run(ctx, world)
	}
	code := exitCode(ctx, err)
	switch {
	case err == nil || errors.As(err, new(ended)):
	case errors.Is(err, train.ErrInterrupted) || errors.Is(err, train.ErrDiverged): // on all ranks
		if world.Rank() == 0 {
			report(0, err)
		}
	default: // the others may wait for this rank
		report(world.Rank(), err)
		mpi.Abort(code)
		return code
	}
	if err := world.Finalize(); err != nil {
		report(world.Rank(), err)
		return program.Failed
	}
	return code
}

func report(rank int, err error) {
	fmt.Fprintf(os.Stderr, "s4d-fast-mpi: rank %d: %v\n", rank, err)
}

// ended is the exit code of an error that a rank has reported, and of which all ranks know.
type ended int

func (e ended) Error() string { return fmt.Sprint("exit code ", int(e)) }

// agree returns an ended on all ranks if one of them has an error. The first such rank reports it.
func agree(ctx context.Context, world *mpi.World, err error) error {
	codes := make([]float64, world.Ranks())
	codes[world.Rank()] = float64(exitCode(ctx, err))
	if failed := world.SumStatistics(codes); failed != nil {
		return errors.Join(err, failed)
	}
	for rank, code := range codes {
		if code == 0 {
			continue
		}
		if rank == world.Rank() {
			report(rank, err)
		}
		return ended(code)
	}
	return nil
}

func exitCode(ctx context.Context, err error) int {
	if e, ok := errors.AsType[ended](err); ok {
		return int(e)
	}
	return configflags.ExitCode(ctx, err)
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
func together(cause error) bool { return cause == program.Signal(syscall.SIGUSR1) }

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
	if cause == program.Signal(syscall.SIGTERM) {
		message += " (mpirun sends SIGTERM when a rank is lost or the job is stopped)"
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
	return train.LogLines(program.Log(os.Stderr))
}

// defaultPatience is longer than any step or any reading of examples should take.
const defaultPatience = 10 * time.Minute
