package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/s4d-fast/s4d-fast/internal/must"
)

// With the configuration of docs/cluster.md, workers with their permissions train a sweep over TLS,
// and cannot do more.
func TestServerConfiguration(t *testing.T) {
	text := string(must.Get(os.ReadFile(filepath.Join("deploy", "nats-server.conf")))(t))
	if version, err := exec.Command("nats-server", "--version").Output(); err == nil && strings.Contains(string(version), "v2.9.") { // docs/cluster.md, Security
		text = strings.Replace(text, "sync_interval:", "# sync_interval:", 1)
	}
	t.Setenv("S4D_SWEEP_PASSWORD", "secret-1")
	t.Setenv("S4D_WORKER_PASSWORD", "secret-2")
	address := configured(t, text)
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
		must.Reject(Connect(c))(t, want)
	}
}

// A server that requires certificates of clients accepts only those of its authority. A worker
// without one does not wait for ever.
func TestClientCertificate(t *testing.T) {
	url := "tls://" + configured(t, `tls {cert_file: "server.pem", key_file: "server-key.pem", ca_file: "server.pem", verify: true}`)
	must.Do(t, dial(t, Connection{URL: url, CA: "server.pem", Cert: "server.pem", Key: "server-key.pem"}).Flush())
	_, err := Connect(Connection{URL: url, CA: "server.pem", Wait: true, Log: logger(t)})
	// The server may close the connection before the client has read why.
	if err == nil || !strings.Contains(err.Error(), "certificate") && !strings.Contains(err.Error(), "tls error") {
		t.Errorf("error %v", err)
	}
}

// configured starts a server with a configuration in a new folder with a certificate, and returns
// its address.
func configured(t *testing.T, text string) string {
	t.Helper()
	t.Chdir(t.TempDir())
	certificate(t)
	must.Do(t, os.WriteFile("nats-server.conf", []byte(text), 0o666))
	return host{}.startNATS(t, "-c", "nats-server.conf", "-a", "127.0.0.1", "-p", "-1").address
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

// A worker waits for a server that it cannot reach, but not for one that rejects it.
func TestUnreachable(t *testing.T) {
	for _, err := range []error{
		&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "nats", IsNotFound: true}},
		&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}, io.EOF,
	} {
		must.Equal(t, unreachable(err), true, "%v: unreachable", err)
	}
	for want, url := range map[string]string{"invalid port": "nats://me:secret@192.0.2.1:x", "port": "nats://192.0.2.1:99999"} {
		if _, err := Connect(Connection{URL: url, Wait: true, Log: logger(t)}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error %v, expected %q without the password", url, err, want)
		}
	}
}
