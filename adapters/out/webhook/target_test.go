package webhook_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"code.dny.dev/ssrf"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/provider-checkout/provider-checkout/adapters/out/webhook"
	"github.com/provider-checkout/provider-checkout/ports"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

func TestDestinationsThatAreRefusedUnseen(t *testing.T) {
	tests := []struct {
		name           string
		url            string
		public, inside string // part of the error; "" if the destination is allowed
	}{
		{"https", "https://hooks.example/in?token=1", "", ""},
		{"https on 443", "https://hooks.example:443/", "", ""},
		{"https on the first free port", "https://hooks.example:1024/", "", ""},
		{"https on the last port", "https://hooks.example:65535/", "", ""},
		{"capitals in the scheme", "HTTPS://hooks.example/", "", ""},
		{"a port where mail lives", "https://hooks.example:25/", "port", ""},
		{"the last port that is not free", "https://hooks.example:1023/", "port", ""},
		{"port 0", "https://hooks.example:0/", "port", ""},
		{"a port over 16 bits", "https://hooks.example:65979/", "port", ""}, // 443 + 2^16
		{"http", "http://hooks.example/", "not https", ""},
		{"a file", "file:///etc/passwd", "not a URL", "not a URL"},
		{"another scheme", "gopher://hooks.example/", "not https", "not https"},
		{"no scheme", "//hooks.example/", "not https", "not https"},
		{"no host", "https:///in", "not a URL", "not a URL"},
		{"a port alone", "https://:443/in", "not a URL", "not a URL"},
		{"an opaque URL", "https:hooks.example", "not a URL", "not a URL"},
		{"no URL", "https://hooks.example/%zz", "not a URL", "not a URL"},
		{"a line break", "https://hooks.example/\r\nX: y", "not a URL", "not a URL"},
		{"nothing", "", "not a URL", "not a URL"},
		{"a user and a password", "https://user:pass@hooks.example/", "user information", "user information"},
		{"an empty user", "https://@hooks.example/", "user information", "user information"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for allowPrivate, want := range map[bool]string{false: tt.public, true: tt.inside} {
				_, err := webhook.ParseTarget(tt.url, allowPrivate)
				switch {
				case want == "" && err != nil:
					t.Errorf("%s, private %v: %v, want nil", tt.url, allowPrivate, err)
				case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
					t.Errorf("%s, private %v: %v, want an error that says %q", tt.url, allowPrivate, err, want)
				}
			}
		})
	}
}

func TestARefusedDestinationIsNotQuoted(t *testing.T) {
	s := newSender(t, webhook.Options{})
	for _, raw := range []string{
		"https://hooks.example/%zz", "http://hooks.example/", "https://user:hostile@hooks.example/", "hostile",
	} {
		err := send(s, raw)
		checkRefused(t, err, "destination")
		if !errors.Is(err, ports.ErrProhibited) {
			t.Errorf("%s: %v, want %v", raw, err, ports.ErrProhibited)
		}
	}
}

func FuzzParseTarget(f *testing.F) {
	for _, seed := range []string{
		"https://hooks.example/in?token=1", "http://[::1]:8080", "https://user@hooks.example", "https:opaque",
		"https://[fe80::1%25eth0]:443/", "\x00", "https://hooks.example:99999",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		public, err := webhook.ParseTarget(raw, false)
		_, insideErr := webhook.ParseTarget(raw, true)
		if err == nil && insideErr != nil {
			t.Fatalf("ParseTarget(%q): allowed in public, refused in a sandbox: %v", raw, insideErr)
		}
		if err != nil {
			return
		}
		if public.Scheme != "https" || public.User != nil || public.Hostname() == "" {
			t.Fatalf("ParseTarget(%q) = %v", raw, public)
		}
		again, err := url.Parse(public.String())
		if err != nil || again.Host != public.Host {
			t.Fatalf("ParseTarget(%q) reads as %v when written: %v", raw, again, err)
		}
	})
}

func TestAddressesAreJudgedAsTheyAreDialled(t *testing.T) {
	const yes, no = true, false
	tests := []struct {
		name            string
		address         string
		public, private bool // allowed without and with AllowPrivate
	}{
		{"public IPv4", "8.8.8.8", yes, yes},
		{"public IPv6", "2404:6800:4006:80e::200e", yes, yes},
		{"loopback", "127.0.0.1", no, yes},
		{"all of loopback", "127.255.255.254", no, yes},
		{"IPv6 loopback", "::1", no, yes},
		{"10/8", "10.1.2.3", no, yes},
		{"172.16/12", "172.31.255.255", no, yes},
		{"just past 172.16/12", "172.32.0.0", yes, yes},
		{"192.168/16", "192.168.1.1", no, yes},
		{"unique local IPv6", "fd00::1", no, yes},
		{"carriers' 100.64/10", "100.64.0.1", no, no},
		{"cloud metadata", "169.254.169.254", no, no},
		{"cloud metadata over IPv6", "fe80::a9fe:a9fe", no, no},
		{"AWS's metadata over IPv6", "fd00:ec2::254", no, no},
		{"AWS's credentials of pods", "fd00:ec2::23", no, no},
		{"AWS's metadata with a zone", "fd00:ec2::254%eth0", no, no},
		{"past AWS's range", "fd00:ec3::254", no, yes},
		{"Google's metadata over IPv6", "fd20:ce::254", no, no},
		{"Oracle's metadata over IPv6", "fd00:c1::a9fe:a9fe", no, no},
		{"Scaleway's metadata over IPv6", "fd00:42::42", no, no},
		{"Alibaba's metadata", "100.100.100.200", no, no},
		{"Azure's host", "168.63.129.16", no, no},
		{"past Azure's host", "168.63.129.17", yes, yes},
		{"this host", "0.0.0.0", no, no},
		{"this host over IPv6", "::", no, no},
		{"broadcast", "255.255.255.255", no, no},
		{"multicast", "224.0.0.1", no, no},
		{"IPv6 multicast", "ff02::1", no, no},
		{"benchmarks' 198.18/15", "198.19.255.255", no, no},
		{"documentation", "203.0.113.1", no, no},
		{"v4-mapped loopback", "::ffff:127.0.0.1", no, no},
		{"v4-mapped metadata", "::ffff:169.254.169.254", no, no},
		{"v4-mapped public", "::ffff:8.8.8.8", no, no},
		{"v4-compatible loopback", "::127.0.0.1", no, no},
		{"NAT64 to loopback", "64:ff9b::127.0.0.1", no, no},
		{"NAT64 to metadata", "64:ff9b::169.254.169.254", no, no},
		{"local NAT64", "64:ff9b:1::10.0.0.1", no, no},
		{"6to4 to loopback", "2002:7f00:1::", no, no},
		{"6to4 to metadata", "2002:a9fe:a9fe::", no, no},
		{"Teredo", "2001::1", no, no},
	}
	public, private := webhook.Guard(webhook.Options{}), webhook.Guard(sandbox)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ip := netip.MustParseAddr(tt.address)
			network := map[bool]string{true: "tcp4", false: "tcp6"}[ip.Is4()]
			address := netip.AddrPortFrom(ip, 8443).String()
			if err := public(network, address, nil); (err == nil) != tt.public {
				t.Errorf("dial %s: %v, want allowed %v", address, err, tt.public)
			}
			if err := private(network, address, nil); (err == nil) != tt.private {
				t.Errorf("dial %s with AllowPrivate: %v, want allowed %v", address, err, tt.private)
			}
		})
	}
}

// Send never connects to an address that the guard refuses: given as an address, as a name that
// this machine knows, or as a name whose DNS server resolves it to an internal address.
func TestSendReachesNothingInside(t *testing.T) {
	var connections atomic.Int32
	inside := serveConns(t, func(*net.TCPConn) { connections.Add(1) })
	port := inside[strings.LastIndex(inside, ":")+1:]
	plain, rebound := newSender(t, webhook.Options{}), newSender(t, webhook.Options{})
	rebound.LookUpWith(resolver(map[string]string{
		"loopback.example.": "127.0.0.1",
		"metadata.example.": "169.254.169.254",
		"private.example.":  "10.0.0.1",
	}))
	tests := []struct {
		sender *webhook.Sender
		hosts  []string
	}{
		{plain, []string{
			"127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "169.254.169.254", "10.0.0.1", "100.64.0.1",
			"[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fe80::1%25lo]", "0.0.0.0", "localhost",
		}},
		{rebound, []string{"loopback.example", "metadata.example", "private.example"}},
	}
	for _, tt := range tests {
		for _, host := range tt.hosts {
			t.Run(host, func(t *testing.T) {
				err := send(tt.sender, "https://"+host+":"+port+"/")
				checkRefused(t, err, "prohibited IP address")
				if !errors.Is(err, ssrf.ErrProhibitedIP) || !errors.Is(err, ports.ErrProhibited) {
					t.Errorf("error %v, want %v and %v", err, ssrf.ErrProhibitedIP, ports.ErrProhibited)
				}
			})
		}
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections reached the inside", n)
	}
}

func TestANameThatDoesNotExist(t *testing.T) {
	s := newSender(t, webhook.Options{})
	s.LookUpWith(resolver(nil))
	err := send(s, "https://gone.invalid/in")
	checkRefused(t, err, "no such host")
	if errors.Is(err, ports.ErrProhibited) {
		t.Errorf("%v: a name that may exist tomorrow is not prohibited", err)
	}
}

// resolver returns a resolver that knows only these names, each with one IPv4 address.
func resolver(addresses map[string]string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go func() {
			defer there.Close()
			answerQueries(there, addresses)
		}()
		return here, nil
	}}
}

// answerQueries answers DNS queries over a stream, where each message is preceded by its length in two bytes.
func answerQueries(c net.Conn, addresses map[string]string) {
	for {
		var length [2]byte
		if _, err := io.ReadFull(c, length[:]); err != nil {
			return
		}
		packed := make([]byte, binary.BigEndian.Uint16(length[:]))
		var m dnsmessage.Message
		if _, err := io.ReadFull(c, packed); err != nil || m.Unpack(packed) != nil {
			return
		}
		asked := m.Questions[0]
		address, known := addresses[asked.Name.String()]
		m.Response, m.Authoritative, m.RecursionAvailable, m.Additionals = true, true, true, nil
		switch {
		case !known:
			m.RCode = dnsmessage.RCodeNameError
		case asked.Type == dnsmessage.TypeA:
			m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: asked.Name, Class: asked.Class},
				Body: &dnsmessage.AResource{A: netip.MustParseAddr(address).As4()}}}
		}
		answer, err := m.AppendPack(make([]byte, 2))
		if err != nil {
			return
		}
		binary.BigEndian.PutUint16(answer, uint16(len(answer)-2))
		if _, err := c.Write(answer); err != nil {
			return
		}
	}
}

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
