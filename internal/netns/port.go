package netns

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
)

// next makes the ports of a process differ, although nobody listens on them yet.
var next atomic.Uint32

func init() { next.Store(rand.Uint32N(12_000)) }

// FreePort returns a port of the loopback interface on which a server can listen, stop and listen
// again. It is below 32768: systems give such a port to no outgoing connection, which could occupy
// it in between.
func FreePort(t testing.TB) int {
	t.Helper()
	var err error
	for range 100 {
		port := 20_000 + int(next.Add(1)%12_000)
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal(err)
	return 0
}
