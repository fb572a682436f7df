package netns

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// FreePort returns a port of the loopback interface on which a server can listen, stop and listen
// again. By default, systems give outgoing connections ports from 32768 on only. FreePort returns a
// lower one, so that no connection takes the port while the server is stopped.
func FreePort(t testing.TB) int {
	t.Helper()
	for {
		port := 20_000 + rand.IntN(12_000)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			l.Close()
			return port
		}
	}
}
