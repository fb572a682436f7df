// Package broker runs a NATS server with JetStream inside a program, for users who have no NATS
// server. A server that is installed, or a cluster of servers, does the same work.
package broker

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/s4d-fast/s4d-fast/atomicfile"
	"github.com/s4d-fast/s4d-fast/internal/filelock"
)

// Options are the options of Start.
type Options struct {
	Addr string // host:port to listen on; an empty host is every interface, port 0 a free one
	Dir  string // folder of the stored streams and the token, for one server at a time; Start locks it where the file system has locks
}

// Server is a running NATS server.
type Server struct {
	s     *server.Server
	host  string
	token string
	lock  *filelock.Lock // on the folder: two servers in one folder would lose stored data
}

const (
	tokenFile = "token"
	lockFile  = "lock"
	startTime = 30 * time.Second // to read the stored streams
)

// Start starts a server. Clients need its token, which is random and stays the same as long as the
// folder exists. Everything is written to disk before it is acknowledged.
func Start(opt Options) (*Server, error) {
	host, text, err := net.SplitHostPort(opt.Addr)
	if err != nil {
		return nil, fmt.Errorf("broker: address %q: expected HOST:PORT, such as :4222: %w", opt.Addr, err)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("broker: address %q: port %q: expected 0 to 65535", opt.Addr, text)
	}
	free, err := net.Listen("tcp", opt.Addr) // the server only retries, without an error
	if err != nil {
		return nil, fmt.Errorf("broker: %w", err)
	}
	free.Close()
	lock, err := lockFolder(opt.Dir)
	if err != nil {
		return nil, fmt.Errorf("broker: %w", err)
	}
	b := &Server{host: host, lock: lock}
	if err := b.start(opt, int(port)); err != nil {
		b.Close()
		return nil, fmt.Errorf("broker: %w", err)
	}
	return b, nil
}

// lockFolder creates the folder if it does not exist, and locks it.
func lockFolder(dir string) (*filelock.Lock, error) {
	if err := atomicfile.System().MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := filelock.Try(filepath.Join(dir, lockFile))
	if errors.Is(err, filelock.ErrLocked) {
		return nil, fmt.Errorf("another server uses the folder %s: stop it, or choose another folder", dir)
	}
	return lock, err
}

// start starts the server in the locked folder.
func (b *Server) start(opt Options, port int) (err error) {
	if b.token, err = loadToken(opt.Dir); err != nil {
		return err
	}
	o := &server.Options{
		Host: b.host, Port: port, Authorization: b.token, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: opt.Dir, SyncAlways: true,
	}
	if port == 0 {
		o.Port = server.RANDOM_PORT
	}
	if b.s, err = server.NewServer(o); err != nil {
		return err
	}
	b.s.Start()
	if !b.s.ReadyForConnections(startTime) {
		return fmt.Errorf("the NATS server does not accept connections on %s: the streams in %s may be damaged", opt.Addr, opt.Dir)
	}
	return nil
}

// loadToken returns the token in a folder. If there is none, it makes one.
func loadToken(dir string) (string, error) {
	path := filepath.Join(dir, tokenFile)
	text, err := atomicfile.System().ReadFile(path, 4<<10)
	if err == nil {
		if token := strings.TrimSpace(string(text)); token != "" {
			return token, nil
		}
		return "", fmt.Errorf("%s is empty: expected the token of the NATS server", path)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	token := rand.Text()
	return token, atomicfile.Write(path, 0o600, func(w io.Writer) error {
		_, err := io.WriteString(w, token+"\n")
		return err
	})
}

// URLs returns the addresses for clients, with the token: the host of Options.Addr, or if that is
// empty, each address of this machine except loopback ones.
func (b *Server) URLs() []string {
	port := b.s.Addr().(*net.TCPAddr).Port
	hosts := []string{b.host}
	if ip := net.ParseIP(b.host); b.host == "" || ip != nil && ip.IsUnspecified() {
		hosts = addresses()
	}
	var urls []string
	for _, h := range hosts {
		u := url.URL{Scheme: "nats", User: url.User(b.token), Host: net.JoinHostPort(h, strconv.Itoa(port))}
		urls = append(urls, u.String())
	}
	return urls
}

func addresses() (hosts []string) {
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			hosts = append(hosts, n.IP.String())
		}
	}
	if len(hosts) == 0 {
		hosts = []string{"127.0.0.1"}
	}
	return hosts
}

// InProcessConn returns a connection without the network (nats.InProcessServer). It needs the token
// too.
func (b *Server) InProcessConn() (net.Conn, error) { return b.s.InProcessConn() }

// Token returns the token that clients need.
func (b *Server) Token() string { return b.token }

// Close stops the server. What it has acknowledged is on disk.
func (b *Server) Close() {
	if b.s != nil {
		b.s.Shutdown()
		b.s.WaitForShutdown()
	}
	b.lock.Close()
}
