package cluster

import (
	"sync"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// A worker that is idle for its time ends without an error, but not while runs are queued.
func TestIdle(t *testing.T) {
	b := start(t)
	idle := func() error {
		w := Worker{Load: loadTask, Idle: 1, Log: logger(t)}
		return w.Run(t.Context(), connect(t, b))
	}
	must.Do(t, idle()) // before the first sweep
	s := tiny(t, t.TempDir(), 2)
	ended := make(chan error, 1)
	var once sync.Once
	c := Coordinator{Sweep: s, Log: logger(t), Watch: func([]Status) { once.Do(func() { go func() { ended <- idle() }() }) }}
	must.Get(c.Run(t.Context(), connect(t, b)))(t)
	must.Do(t, <-ended)
}
