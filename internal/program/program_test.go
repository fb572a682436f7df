package program

import (
	"context"
	"os"
	"syscall"
	"testing"
)

// A signal cancels the context, with the signal as the cause.
func TestContext(t *testing.T) {
	ctx := Context()
	p, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(os.Interrupt); err != nil {
		t.Skipf("a process cannot send itself an interrupt here: %v", err)
	}
	<-ctx.Done()
	if s, ok := context.Cause(ctx).(Signal); !ok || s != Signal(syscall.SIGINT) || s.Code() != 130 {
		t.Errorf("cause %v, expected SIGINT", context.Cause(ctx))
	}
}
