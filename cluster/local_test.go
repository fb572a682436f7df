package cluster

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/train"
)

// local returns a sweep without workers, and the path of the checkpoint of its first run. The run
// was stopped after step 5. An epoch has 4 steps, and the previous checkpoint is that of step 4.
func local(t *testing.T) (s train.Sweep, checkpoint string) {
	t.Helper()
	s = tiny(t, t.TempDir(), 1)
	ctx, cancel := context.WithCancel(t.Context())
	s.Reporter = cancelAt{holdAt{step: 5}, cancel}
	must.Reject(s.Run(ctx))(t, train.ErrInterrupted)
	return s, filepath.Join(s.Dir, "ssm.init=lin,seed=1", "last", "checkpoint.safetensors")
}

// A run that was begun without a cluster continues from its last checkpoint, or from the previous
// one if the last is damaged.
func TestLocalCheckpoint(t *testing.T) {
	for step, damage := range map[int]func(path string){
		5: func(string) {},
		4: func(path string) { must.Do(t, os.Truncate(path, 100)) },
	} {
		s, checkpoint := local(t)
		damage(checkpoint)
		b := start(t)
		first := 1 << 20 // step of the first run
		work(t, connect(t, b), &Worker{Name: "only", Reporter: beginAt{holdAt{}, &first}})
		must.Get((&Coordinator{Sweep: s, Log: logger(t)}).Run(t.Context(), connect(t, b)))(t)
		must.Equal(t, first, step, "step at which the first run began")
		same(t, s, alone(t, 1))
	}
}

// A run that was begun without a cluster, and that is not that of the sweep, is an error.
func TestLocalOther(t *testing.T) {
	s, _ := local(t)
	must.Do(t, s.Base.Set("optim.lr=0.5"))
	must.Reject((&Coordinator{Sweep: s, Log: logger(t)}).Run(t.Context(), connect(t, start(t))))(t, "ssm.init=lin seed=1: ", " has another configuration: optim.lr")
}
