package netns

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// dial connects to an address from a namespace.
func dial(namespace, network, address string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		f, err := os.Open(filepath.Join("/var/run/netns", namespace))
		if err != nil {
			done <- result{nil, err}
			return
		}
		defer f.Close()
		if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- result{nil, err}
			return
		}
		conn, err := net.DialTimeout(network, address, 5*time.Second)
		done <- result{conn, err}
	}()
	r := <-done
	return r.conn, r.err
}
