package broker_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/s4d-fast/s4d-fast/cluster/broker"
	"github.com/s4d-fast/s4d-fast/internal/must"
)

// A server has the same token after a restart, and requires it.
func TestToken(t *testing.T) {
	opt := broker.Options{Addr: "127.0.0.1:0", Dir: t.TempDir()}
	token := ""
	for range 2 {
		b := must.Get(broker.Start(opt))(t)
		if token == "" {
			token = b.Token()
		}
		must.Equal(t, b.Token(), token, "token")
		nc := must.Get(nats.Connect(b.URLs()[0]))(t)
		must.Reject(nats.Connect("nats://wrong@"+nc.ConnectedAddr()))(t, nats.ErrAuthorization)
		nc.Close()
		b.Close()
	}
}

// A folder that one server uses is rejected for a second one, until the first is closed.
func TestLock(t *testing.T) {
	opt := broker.Options{Addr: "127.0.0.1:0", Dir: t.TempDir()}
	b := must.Get(broker.Start(opt))(t)
	must.Reject(broker.Start(opt))(t, "another server uses the folder "+opt.Dir)
	b.Close()
	must.Get(broker.Start(opt))(t).Close()
}

func TestStartErrors(t *testing.T) {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	empty := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(empty, "token"), []byte("\n"), 0o600))
	for _, c := range []struct {
		addr, dir, want string
	}{
		{l.Addr().String(), t.TempDir(), "address already in use"},
		{"127.0.0.1:0", empty, "token is empty"},
		{"127.0.0.1:0", filepath.Join(empty, "token"), "token"},
		{"4222", t.TempDir(), "expected HOST:PORT"},
		{":port", t.TempDir(), "expected 0 to 65535"},
		{"192.0.2.1:0", t.TempDir(), "192.0.2.1"},
	} {
		must.Reject(broker.Start(broker.Options{Addr: c.addr, Dir: c.dir}))(t, c.want)
	}
	must.Do(t, os.Remove(filepath.Join(empty, "token"))) // the folder is not locked any more
	must.Get(broker.Start(broker.Options{Addr: "127.0.0.1:0", Dir: empty}))(t).Close()
}
