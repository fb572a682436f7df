package cluster

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// The configuration of docs/cluster.md: workers with their permissions train a sweep over TLS, and
// cannot do more. It holds for the server in this program and for an installed one.
func TestServerConfiguration(t *testing.T) {
	text := string(must.Get(os.ReadFile(filepath.Join("deploy", "nats-server.conf")))(t))
	t.Setenv("S4D_SWEEP_PASSWORD", "secret-1")
	t.Setenv("S4D_WORKER_PASSWORD", "secret-2")
	t.Run("built in", func(t *testing.T) {
		t.Chdir(t.TempDir())
		certificate(t)
		restricted(t, configured(t, text))
	})
	t.Run("nats-server", func(t *testing.T) {
		path, err := exec.LookPath("nats-server")
		if err != nil {
			t.Skip("nats-server is not installed")
		}
		t.Chdir(t.TempDir())
		certificate(t)
		version := string(must.Get(exec.Command(path, "--version").Output())(t))
		t.Logf("%s", version)
		if strings.Contains(version, "v2.9.") { // docs/cluster.md, Security
			text = strings.Replace(text, "sync_interval:", "# sync_interval:", 1)
		}
		must.Do(t, os.WriteFile("nats-server.conf", []byte(text), 0o666))
		cmd := exec.CommandContext(t.Context(), path, "-c", "nats-server.conf", "-a", "127.0.0.1", "-p", "-1") // on a free port
		log := must.Get(cmd.StderrPipe())(t)
		must.Do(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Wait() })
		address := ""
		for lines := bufio.NewScanner(log); lines.Scan() && !strings.Contains(lines.Text(), "Server is ready"); {
			t.Log(lines.Text())
			if _, a, ok := strings.Cut(lines.Text(), "client connections on "); ok {
				address = a
			}
		}
		go io.Copy(io.Discard, log)
		restricted(t, address)
	})
}

// restricted has a worker train a sweep on a server with the configuration of docs/cluster.md.
func restricted(t *testing.T, address string) {
	t.Helper()
	user := func(name, password string) *nats.Conn {
		nc := dial(t, Connection{URL: "tls://" + name + ":" + password + "@" + address, CA: "server.pem"})
		nc.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { t.Errorf("%s: %v", name, err) })
		return nc
	}
	worker := user("worker", "secret-2")
	work(t, worker, &Worker{Name: "worker"})
	sweep := tiny(t, t.TempDir(), 1)
	must.Get((&Coordinator{Sweep: sweep, Log: logger(t)}).Run(t.Context(), user("sweep", "secret-1")))(t)
	same(t, sweep, alone(t, 1))

	denied := make(chan string, 1)
	worker.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err.Error() })
	for _, subject := range []string{"$KV." + bucket + "." + jobPrefix + testKey, "$JS.API.STREAM.CREATE.OTHER", "$JS.API.STREAM.DELETE.KV_" + bucket} {
		must.Do(t, worker.Publish(subject, nil))
		if text := <-denied; !strings.Contains(text, subject) || !strings.Contains(text, "Permissions Violation") {
			t.Errorf("%s: %s", subject, text)
		}
	}
	for want, c := range map[string]Connection{
		"certificate":   {URL: "tls://worker:secret-2@" + address},
		"Authorization": {URL: "tls://worker:wrong@" + address, CA: "server.pem"},
	} {
		must.Reject(Connect(t.Context(), c))(t, want, "xxxxx@")
	}
}

// A server that requires certificates of clients accepts only those of its authority. A worker
// without one does not wait for ever.
func TestClientCertificate(t *testing.T) {
	t.Chdir(t.TempDir())
	certificate(t)
	url := "tls://" + configured(t, `tls {cert_file: "server.pem", key_file: "server-key.pem", ca_file: "server.pem", verify: true}`)
	must.Do(t, dial(t, Connection{URL: url, CA: "server.pem", Cert: "server.pem", Key: "server-key.pem"}).Flush())
	_, err := Connect(t.Context(), Connection{URL: url, CA: "server.pem", Wait: true})
	// The server may close the connection before the client has read why.
	if err == nil || !strings.Contains(err.Error(), "certificate") && !strings.Contains(err.Error(), "tls error") {
		t.Errorf("error %v", err)
	}
}

// Workers connect with credentials of an operator's account (nsc).
func TestCredentials(t *testing.T) {
	operator, account, user := must.Get(nkeys.CreateOperator())(t), must.Get(nkeys.CreateAccount())(t), must.Get(nkeys.CreateUser())(t)
	public := func(k nkeys.KeyPair) string { return must.Get(k.PublicKey())(t) }
	claims := jwt.NewAccountClaims(public(account))
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}
	system := public(must.Get(nkeys.CreateAccount())(t)) // JetStream requires one
	accounts := &server.MemAccResolver{}
	must.Do(t, accounts.Store(public(account), must.Get(claims.Encode(operator))(t)))
	must.Do(t, accounts.Store(system, must.Get(jwt.NewAccountClaims(system).Encode(operator))(t)))
	s := startServer(t, &server.Options{
		JetStream: true, StoreDir: t.TempDir(), TrustedKeys: []string{public(operator)}, AccountResolver: accounts, SystemAccount: system,
	})
	seed := must.Get(user.Seed())(t)
	creds := must.Get(jwt.FormatUserConfig(must.Get(jwt.NewUserClaims(public(user)).Encode(account))(t), seed))(t)
	path := filepath.Join(t.TempDir(), "user.creds")
	must.Do(t, os.WriteFile(path, creds, 0o600))
	url := "nats://" + s.Addr().String()
	must.Get(create(t.Context(), dial(t, Connection{URL: url, Credentials: path})))(t)
	must.Reject(Connect(t.Context(), Connection{URL: url}))(t, "Authorization")
}

// startServer starts a server on a free port of the loopback interface.
func startServer(t *testing.T, opts *server.Options) *server.Server {
	t.Helper()
	opts.Host, opts.Port, opts.NoLog, opts.NoSigs = "127.0.0.1", server.RANDOM_PORT, true, true
	s := must.Get(server.NewServer(opts))(t)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	return s
}

// dial connects until the end of the test.
func dial(t *testing.T, c Connection) *nats.Conn {
	t.Helper()
	nc := must.Get(Connect(t.Context(), c))(t)
	t.Cleanup(nc.Close)
	return nc
}

// configured starts a server with a configuration, and returns its address.
func configured(t *testing.T, text string) string {
	t.Helper()
	must.Do(t, os.WriteFile("nats-server.conf", []byte(text), 0o666))
	return startServer(t, must.Get(server.ProcessConfigFile("nats-server.conf"))(t)).Addr().String()
}

// certificate writes a certificate of 127.0.0.1, which signs itself, and its key.
func certificate(t *testing.T) {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	write := func(name, kind string, der []byte) {
		must.Do(t, os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	}
	write("server.pem", "CERTIFICATE", der)
	write("server-key.pem", "PRIVATE KEY", must.Get(x509.MarshalPKCS8PrivateKey(key))(t))
}
