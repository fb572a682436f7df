package train

import (
	"os"
	"runtime"
	"testing"
	"testing/fstest"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// The limit is that of the machine or of a control group.
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
		must.Equal(t, memoryLimit(root), c.expected, "%s: bytes", name)
	}
	if got := memoryLimit(os.DirFS("/")); runtime.GOOS == "linux" && got <= 0 {
		t.Errorf("on this machine: %v bytes", got)
	}
}
