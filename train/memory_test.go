package train

import (
	"fmt"
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
	limits := func(address, data string) string {
		const line = "%-25s %-20s %-20s %-10s\n"
		return fmt.Sprintf(line, "Limit", "Soft Limit", "Hard Limit", "Units") + fmt.Sprintf(line, "Max data size", data, "unlimited", "bytes") +
			fmt.Sprintf(line, "Max open files", "1024", "4096", "files") + fmt.Sprintf(line, "Max address space", address, "unlimited", "bytes")
	}
	const meminfo = "MemTotal:        1048576 kB\nMemFree:          123456 kB\n"
	for name, c := range map[string]struct {
		files    map[string]string
		expected float64
	}{
		"nothing is known":         {nil, 0},
		"no control group":         {map[string]string{"proc/meminfo": meminfo}, 1 << 30},
		"no limits of the process": {map[string]string{"proc/meminfo": meminfo, "proc/self/limits": limits("unlimited", "unlimited")}, 1 << 30},
		"address space":            {map[string]string{"proc/meminfo": meminfo, "proc/self/limits": limits("7000", "unlimited")}, 7000},
		"data size":                {map[string]string{"proc/meminfo": meminfo, "proc/self/limits": limits("7000", "6000")}, 6000},
		"version 2, no limit": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n",
		}, 1 << 30},
		"version 2": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "5000\n",
		}, 5000},
		"version 2, a group above": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/memory.max": "4000\n", "sys/fs/cgroup/a/b/memory.max": "max\n",
		}, 4000},
		"version 2, in a container": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/../..\n", "sys/fs/cgroup/memory.max": "3000\n",
		}, 3000},
		"version 1": {map[string]string{
			"proc/meminfo":     meminfo,
			"proc/self/cgroup": "5:cpu:/x\n4:hugetlb,memory:/a:b\n0::/\n",
			"sys/fs/cgroup/memory/a:b/memory.limit_in_bytes": "2000\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
		}, 2000},
		"version 1, the host's path": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "4:memory:/docker/1234\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "1000\n",
		}, 1000},
		"above the machine's": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "4:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 1 << 30},
		"malformed": {map[string]string{
			"proc/self/limits": "Max address space\n",
			"proc/meminfo":     "MemTotal: lots kB\n", "proc/self/cgroup": "::\n\n0\n", "sys/fs/cgroup/memory.max": "-1\n",
		}, 0},
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
