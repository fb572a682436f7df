// Command s4d-fast trains and runs state space models.
//
// Each command has a file of its own, which maps flags to calls of the public packages. Results go
// to standard output, as JSON Lines where programs read them; logs and progress go to standard
// error. exit.go lists the exit codes.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/s4d-fast/s4d-fast/events"
	"github.com/s4d-fast/s4d-fast/internal/bench"
	"github.com/s4d-fast/s4d-fast/internal/configflags"
	"github.com/s4d-fast/s4d-fast/internal/program"
	"github.com/s4d-fast/s4d-fast/level"
	"github.com/s4d-fast/s4d-fast/pretrained"
)

// cli is the command line. Every command has a Run method.
type cli struct {
	Level string `help:"Kernel level to use (default: the best one available except amx; for bench: all). 's4d-fast version' lists them." placeholder:"LEVEL"`

	Strict bool `help:"Fail where a note would say how an input was read." env:"S4D_STRICT"`

	NoFFmpeg bool `name:"no-ffmpeg" help:"Do not decode formats such as Opus, M4A and WebM with ffmpeg." env:"S4D_NO_FFMPEG"`

	ShowVersion versionFlag `name:"version" help:"Print the version and exit."`

	Train trainCmd `cmd:"" help:"Train a network on a task (default: ${default_task})."`
	Eval  evalCmd  `cmd:"" help:"Evaluate a model on one split of a data set."`

	Calibrate calibrateCmd `cmd:"" help:"Measure missed words and false alarms, and store the best operating point in a copy of the model."`

	Sweep   sweepCmd   `cmd:"" help:"Train a grid of configurations and write a table and a plot of the results."`
	Stream  streamCmd  `cmd:"" help:"Run a model on streaming audio, and print events or frames."`
	Rows    rowsCmd    `cmd:"" help:"Run a model on rows of CSV or JSON Lines as they arrive, and print classes, forecasts or anomaly scores."`
	Inspect inspectCmd `cmd:"" help:"Show the configuration, parameters, poles and labels of a model."`
	Plot    plotCmd    `cmd:"" help:"Draw plots like the figures of the paper."`
	Prune   pruneCmd   `cmd:"" help:"Write a smaller model that keeps a share of the modes of every SSM."`
	Convert convertCmd `cmd:"" help:"Convert a PyTorch checkpoint to a model file, or a model to a checkpoint."`
	Studio  studioCmd  `cmd:"" help:"Serve a local page that learns your words: record, train, listen."`
	Data    dataCmd    `cmd:"" help:"Fetch and generate data sets."`
	Bench   benchCmd   `cmd:"" help:"Benchmark the kernels and a training step on this machine."`
	Version versionCmd `cmd:"" help:"Show the version, the processor and the kernel levels."`

	Completion completionCmd `cmd:"" help:"Print a script with which bash or zsh completes commands and flags."`
}

// versionFlag runs the command version as a flag.
type versionFlag bool

// BeforeReset is called by kong if the flag is given.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	defer app.Exit(exitOK)
	return (&versionCmd{}).Run(&streams{out: app.Stdout})
}

// streams are the standard streams of the process. Tests replace them.
type streams struct {
	in       io.Reader
	out, err io.Writer
	inTTY    bool // stdin is a terminal
	errTTY   bool // stderr is a terminal
	strict   bool // notes are errors
	noted    map[string]bool
}

func main() {
	signal.Ignore(syscall.SIGPIPE) // the next write returns an error instead; Windows has no such signal
	os.Exit(run(program.Context(), os.Args[1:], streams{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		inTTY: term.IsTerminal(int(os.Stdin.Fd())), errTTY: term.IsTerminal(int(os.Stderr.Fd())),
	}))
}

// run executes one command line and returns its exit code. Cancelling ctx with the cause
// program.Signal stops the command as that signal does.
func run(ctx context.Context, args []string, std streams) int {
	out := &output{Writer: std.out}
	std.out, std.noted = out, map[string]bool{}
	err := execute(ctx, args, &std)
	_, badUsage := errors.AsType[*kong.ParseError](err)
	if out.err != nil && (err == nil || badUsage || errors.Is(err, out.err)) { // kong reports an unwritable --help as a parse error
		err, badUsage = out.err, false // without the exit code of bad input
	}
	if err == nil || isBrokenPipe(out.err) && isBrokenPipe(err) { // the reader of the results, such as head, has read enough
		return exitOK
	}
	fmt.Fprintf(std.err, "s4d-fast: %s\n", printable(err.Error(), "\n\t"))
	if badUsage {
		fmt.Fprintln(std.err, "Run 's4d-fast --help' for usage.")
	}
	return configflags.ExitCode(ctx, err)
}

// isBrokenPipe reports whether a write failed because nobody reads a pipe. The numbers are those of
// Windows.
func isBrokenPipe(err error) bool {
	const brokenPipe, closing = syscall.Errno(109), syscall.Errno(232)
	return errors.Is(err, syscall.EPIPE) || runtime.GOOS == "windows" && (errors.Is(err, brokenPipe) || errors.Is(err, closing))
}

// output is standard output. It keeps the first error, so that a command whose results were not
// written fails even where the command did not check the error itself.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if err != nil {
		err = fmt.Errorf("standard output: %w", err)
		o.err = cmp.Or(o.err, err)
	}
	return n, err
}

// execute parses one command line and runs its command.
func execute(ctx context.Context, args []string, std *streams) error {
	var c cli
	exited := false
	for _, name := range []string{"S4D_STRICT", "S4D_NO_FFMPEG"} {
		if os.Getenv(name) == "" { // kong rejects an empty one
			os.Unsetenv(name)
		}
	}
	parser, err := kong.New(&c,
		kong.Name("s4d-fast"),
		kong.Description("Train and run state space models (S4D, S4D-DFouT, S4, DSS, S5, LRU) on a CPU."),
		kong.Writers(std.out, std.err),
		kong.Exit(func(int) { exited = true }),
		variables(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.ValueFormatter(helpText),
	)
	if err != nil {
		panic(err)
	}
	parser.Model.HelpFlag.Help = "Show this help."
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if exited { // by --help or --version
		return nil
	}
	if err != nil {
		return usageError(explainFlag(err, args))
	}
	std.strict = c.Strict
	os.Unsetenv("S4D_NO_FFMPEG")
	if c.NoFFmpeg {
		os.Setenv("S4D_NO_FFMPEG", "1") // for package audio
	}
	if parsed.Command() != "bench" || c.Level == "" { // --level of bench may list several
		if err := level.Set(c.Level); err != nil {
			return usageError(err)
		}
	}
	if err := cmp.Or(checkRanges(parsed), checkOutputs(parsed)); err != nil {
		return err
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	command := func() (bool, error) {
		return true, parsed.Run(std, program.Log(std.err), &c, parsed)
	}
	switch name, _, _ := strings.Cut(parsed.Command(), " "); name {
	case "inspect", "plot": // they have nothing to save
		_, err = orInterrupt(ctx, command)
	default:
		_, err = command()
	}
	return err
}

// helpText returns the help of a flag with its default, unless the help states the default.
func helpText(v *kong.Value) string {
	if v.Flag == nil || !v.HasDefault || v.Default == "" || strings.Contains(v.Help, "default") {
		return v.Help
	}
	return fmt.Sprintf("%s (default: %s).", strings.TrimSuffix(v.Help, "."), v.Default)
}

// variables are the lists of names and the defaults in help texts.
func variables() kong.Vars {
	vars, d := kong.Vars(configflags.Variables()), events.Defaults()
	vars["threshold"], vars["confirm"] = fmt.Sprint(d.Threshold), fmt.Sprint(d.Confirm)
	vars["refractory"], vars["window"] = fmt.Sprint(d.Refractory), fmt.Sprint(d.Smoothing)
	vars["models"] = strings.Join(pretrained.Names(), ", ")
	vars["ops"] = strings.Join(bench.Names(), ", ")
	return vars
}

// orInterrupt returns what f returns, or the cause of ctx as soon as ctx is cancelled, while f
// still runs. It is for work that takes no context and needs no cleanup, such as reading a file
// that may be a named pipe.
func orInterrupt[T any](ctx context.Context, f func() (T, error)) (v T, err error) {
	done := make(chan func(), 1)
	go func() {
		w, failed := f()
		done <- func() { v, err = w, failed }
	}()
	select {
	case set := <-done:
		set()
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	return v, err
}
