package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
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
// cannot do more.
func TestServerConfiguration(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join("deploy", "nats-server.conf")))(t)
	t.Chdir(t.TempDir())
	must.Do(t, os.WriteFile("nats-server.conf", text, 0o666))
	certificate(t)
	t.Setenv("S4D_SWEEP_PASSWORD", "secret-1")
	t.Setenv("S4D_WORKER_PASSWORD", "secret-2")
	opts := must.Get(server.ProcessConfigFile("nats-server.conf"))(t)
	opts.Host, opts.Port, opts.NoLog, opts.NoSigs = "127.0.0.1", server.RANDOM_PORT, true, true
	s := must.Get(server.NewServer(opts))(t)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	user := func(name, password string) *nats.Conn {
		nc := must.Get(Connect(t.Context(), Connection{URL: "tls://" + name + ":" + password + "@" + s.Addr().String(), CA: "server.pem"}))(t)
		t.Cleanup(nc.Close)
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
	for _, subject := range []string{runsSubject + "0123456789abcdef.0", "$JS.API.STREAM.CREATE.OTHER", "$JS.API.STREAM.DELETE." + runsStream} {
		must.Do(t, worker.Publish(subject, nil))
		if text := <-denied; !strings.Contains(text, subject) || !strings.Contains(text, "Permissions Violation") {
			t.Errorf("%s: %s", subject, text)
		}
	}
	for want, c := range map[string]Connection{
		"certificate":   {URL: "tls://worker:secret-2@" + s.Addr().String()},
		"Authorization": {URL: "tls://worker:wrong@" + s.Addr().String(), CA: "server.pem"},
	} {
		must.Reject(Connect(t.Context(), c))(t, want, "xxxxx@")
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
	s := must.Get(server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, JetStream: true, StoreDir: t.TempDir(),
		TrustedKeys: []string{public(operator)}, AccountResolver: accounts, SystemAccount: system,
	}))(t)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	seed := must.Get(user.Seed())(t)
	creds := must.Get(jwt.FormatUserConfig(must.Get(jwt.NewUserClaims(public(user)).Encode(account))(t), seed))(t)
	path := filepath.Join(t.TempDir(), "user.creds")
	must.Do(t, os.WriteFile(path, creds, 0o600))
	url := "nats://" + s.Addr().String()
	nc := must.Get(Connect(t.Context(), Connection{URL: url, Credentials: path}))(t)
	defer nc.Close()
	must.Get(create(t.Context(), nc, time.Second, 1))(t)
	must.Reject(Connect(t.Context(), Connection{URL: url}))(t, "Authorization")
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
