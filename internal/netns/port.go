package netns

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
)

// next counts the calls of FreePort, so that two calls give two ports even before a server listens
// on the first one. It begins at random: tests in other processes probably use other ports.
var next atomic.Uint32

func init() { next.Store(rand.Uint32N(12_000)) }

// FreePort returns a port of the loopback interface on which a server can listen, stop and listen
// again. By default, systems give outgoing connections ports from 32768 on only. FreePort returns a
// lower one, so that no connection takes the port while the server is stopped.
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
