package cluster

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// Two workers make the runs of a sweep. The folder is then that of the same sweep run alone, and
// the broker has nothing of it.
func TestSweep(t *testing.T) {
	b := start(t)
	for _, name := range names(2) {
		work(t, connect(t, b), &Worker{Name: name})
	}
	s := tiny(t, t.TempDir(), 3)
	var last []Status
	c := &Coordinator{Sweep: s, Log: logger(t), Watch: func(all []Status) { last = all }}
	nc := connect(t, b)
	rows := must.Get(c.Run(t.Context(), nc))(t)
	must.Equal(t, len(rows), 6, "rows")
	same(t, s, alone(t, 3))
	for _, st := range last {
		if st.State != done || st.Worker == "" || st.Result == "" || st.Level != levelName() {
			t.Errorf("last status %+v", st)
		}
	}
	st := must.Get(open(t.Context(), nc))(t)
	if objects, _ := st.objects.List(t.Context()); len(objects) != 0 {
		t.Errorf("%d objects are left", len(objects))
	}
	must.Reject(st.kv.Keys(t.Context()))(t, jetstream.ErrNoKeysFound)
	again := must.Get(c.Run(t.Context(), nc))(t)
	must.Equal(t, len(again), 6, "rows of the complete sweep")
}
