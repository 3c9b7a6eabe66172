package webhook_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/webhook"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// issue returns a self-signed certificate, and a pool that trusts it.
func issue(t *testing.T, name string, ip net.IP, expires time.Time) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	return sample.Certificate(t, x509.Certificate{
		Subject:     pkix.Name{CommonName: "hostile"},
		NotBefore:   time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:    expires,
		DNSNames:    []string{name},
		IPAddresses: []net.IP{ip},
		IsCA:        true, BasicConstraintsValid: true,
	})
}

// serveTLS answers 204 over TLS on loopback until the test ends.
func serveTLS(t *testing.T, config *tls.Config) (url string) {
	t.Helper()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.TLS = config
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestOnlyGoodTLSIsSpoken(t *testing.T) {
	loopback, elsewhere := net.IPv4(127, 0, 0, 1), net.IPv4(127, 0, 0, 2)
	far := time.Date(2199, 1, 1, 0, 0, 0, 0, time.UTC)
	past := time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC)

	good, trusted := issue(t, "hostile.example", loopback, far)
	foreign, _ := issue(t, "hostile.example", loopback, far)
	other, otherTrusted := issue(t, "hostile.example", elsewhere, far)
	expired, expiredTrusted := issue(t, "hostile.example", loopback, past)

	tests := []struct {
		name   string
		server *tls.Config
		roots  *x509.CertPool
		want   string // "" if the event is accepted
	}{
		{"TLS 1.3", &tls.Config{Certificates: []tls.Certificate{good}}, trusted, ""},
		{"TLS 1.2", &tls.Config{Certificates: []tls.Certificate{good}, MaxVersion: tls.VersionTLS12}, trusted, ""},
		{"TLS 1.1", &tls.Config{
			Certificates: []tls.Certificate{good}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11,
		}, trusted, "protocol version"},
		{"an unknown authority", &tls.Config{Certificates: []tls.Certificate{foreign}}, trusted, "unknown authority"},
		{"a certificate for another host", &tls.Config{Certificates: []tls.Certificate{other}}, otherTrusted, "another host"},
		{"an expired certificate", &tls.Config{Certificates: []tls.Certificate{expired}}, expiredTrusted, "expired"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSender(t, sandbox)
			s.TrustOnly(tt.roots)
			checkOutcome(t, send(s, serveTLS(t, tt.server)), tt.want)
		})
	}
}

func TestAReceiverWithoutTLSIsNotSpokenTo(t *testing.T) {
	srv := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request arrived without TLS") })
	s := newSender(t, webhook.Options{AllowPrivate: true})
	checkRefused(t, send(s, "https://"+srv.Listener.Addr().String()), "not proper TLS")
}
