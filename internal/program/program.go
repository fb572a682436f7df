// Package program has what the commands share: signals, exit codes, the version and the log.
package program

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// Exit codes.
const (
	OK       = 0
	Failed   = 1 // failed at run time
	Usage    = 2 // invalid flags, unknown task or key
	BadInput = 3 // invalid data, audio or model file
	Diverged = 4 // training diverged
	// 128 + signal after an interrupt: 129 (SIGHUP), 130 (SIGINT), 143 (SIGTERM)
)

// Version returns the version and the commit that the program was built from, or "unknown".
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}

// Signal is the cause of a context that a signal has cancelled.
type Signal syscall.Signal

func (s Signal) Error() string {
	switch syscall.Signal(s) {
	case syscall.SIGTERM:
		return "stopped by SIGTERM"
	case syscall.SIGHUP:
		return "stopped by SIGHUP"
	case syscall.SIGINT:
		return "stopped by Ctrl-C"
	}
	return "stopped by signal " + syscall.Signal(s).String()
}

// Code is the exit code of a process that the signal has ended.
func (s Signal) Code() int { return 128 + int(s) }

// Context returns a context that SIGINT, SIGTERM, SIGHUP or another signal cancels, with a Signal
// as the cause. A SIGHUP that the process was started to ignore, as nohup does, stays ignored. A
// second signal ends the process at once, but for SIGHUP: a terminal that is closed often sends
// two, one from the kernel and one from the shell.
func Context(more ...os.Signal) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	c, hangups := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(c, append(more, os.Interrupt, syscall.SIGTERM)...)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(hangups, syscall.SIGHUP) // until the end: signal.Ignore has a moment in which SIGHUP kills
	}
	go func() {
		var s os.Signal
		select {
		case s = <-c:
		case s = <-hangups:
		}
		signal.Stop(c)
		cancel(Signal(s.(syscall.Signal)))
	}()
	return ctx
}

// Log returns a log without times.
func Log(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey && len(groups) == 0 {
			return slog.Attr{}
		}
		return a
	}}))
}
