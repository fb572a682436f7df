package train

import (
	"os"
	"runtime"
	"testing"
	"testing/fstest"

	"github.com/s4d-fast/s4d-fast/internal/must"
	"github.com/s4d-fast/s4d-fast/model"
)

// The estimate of a loader's memory is near what its batches take.
func TestBatchMemory(t *testing.T) {
	if must.RaceEnabled {
		t.Skip("the race detector makes pools drop arrays, which are then allocated again")
	}
	const size, length = 64, 5000
	data := echoData(tiny(t, "data.length=5000", "data.eval_size=64").Config)
	members := make([]int, size)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 2 {
		newBatch(data.Info, &model.Meta{}, size).load(data.Val, members, 0)
	}
	dlogits := make([]float32, size*length)
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(dlogits)
	took := float64(after.TotalAlloc - before.TotalAlloc)
	if got := batchMemory(data.Info, size); got < 0.8*took || got > 1.2*took {
		t.Errorf("estimated %.3g bytes, took %.3g", got, took)
	}
}

func TestMemoryLimit(t *testing.T) {
	const meminfo = "MemTotal:        1048576 kB\nMemFree:          123456 kB\n"
	for name, c := range map[string]struct {
		files    map[string]string
		expected float64
	}{
		"nothing is known": {nil, 0},
		"no control group": {map[string]string{"proc/meminfo": meminfo}, 1 << 30},
		"a group above": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "4:cpu:/x\n0::/a/b\n",
			"sys/fs/cgroup/a/memory.max": "4000\n", "sys/fs/cgroup/a/b/memory.max": "max\n",
		}, 4000},
		"in a container": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/../..\n", "sys/fs/cgroup/memory.max": "3000\n"}, 3000},
	} {
		root := fstest.MapFS{}
		for file, text := range c.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := memoryLimit(root); got != c.expected {
			t.Errorf("%s: %v bytes, expected %v", name, got, c.expected)
		}
	}
	if got := memoryLimit(os.DirFS("/")); runtime.GOOS == "linux" && got <= 0 {
		t.Errorf("on this machine: %v bytes", got)
	}
}
