package smtp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	server "github.com/emersion/go-smtp"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// mailServer is a mail server on loopback that keeps the messages that it takes, and gives the answers of the test.
type mailServer struct {
	*server.Server
	addr  string
	roots *x509.CertPool

	mu       sync.Mutex
	sessions int
	got      []delivery
	mail     error // the answer to MAIL
	rcpt     error
	data     error
}

// delivery is a message with its envelope.
type delivery struct {
	from, to string
	hello    string // the name of EHLO
	utf8     bool
	tls      bool
	user     string
	text     []byte
}

// serve starts a mail server for mail.example. change, if any, changes it before.
func serve(t *testing.T, change ...func(*mailServer)) *mailServer {
	t.Helper()
	s := &mailServer{}
	certificate, roots := certificate(t)
	s.Server, s.roots = server.NewServer(s), roots
	s.Domain, s.EnableSMTPUTF8 = "mail.example", true
	s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}}
	s.ReadTimeout, s.WriteTimeout = 5*time.Second, 5*time.Second
	for _, f := range change {
		f(s)
	}
	ln := sample.Listen(t)
	s.addr = ln.Addr().String()
	if s.Addr == "smtps" {
		ln = tls.NewListener(ln, s.TLSConfig)
	}
	var serving sync.WaitGroup
	serving.Go(func() { s.Serve(ln) })
	t.Cleanup(func() { s.Close(); serving.Wait() })
	return s
}

// withoutTLS has the server offer no STARTTLS, and take a user all the same.
func withoutTLS(s *mailServer) { s.TLSConfig, s.AllowInsecureAuth = nil, true }

// implicitTLS has the server begin with TLS.
func implicitTLS(s *mailServer) { s.Addr = "smtps" }

// certificate returns one for mail.example, and what trusts it.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	return sample.Certificate(t, x509.Certificate{Subject: pkix.Name{CommonName: "mail.example"}, DNSNames: []string{"mail.example"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)})
}

// through returns a notifier whose server is this one, by the name and with the options of a real one.
func (s *mailServer) through(t *testing.T, o Options) *Notifier {
	t.Helper()
	if o.URL == "" {
		o.URL = "smtp://mail.example"
	}
	if o.From == "" {
		o.From = "Kōwhai payments <plans@lender.example>"
	}
	n, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	n.tls.RootCAs = s.roots
	n.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, s.addr)
	}
	return n
}

// answer sets what the server answers from now on; nil takes a message.
func (s *mailServer) answer(mail, rcpt, data error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mail, s.rcpt, s.data = mail, rcpt, data
}

// take returns what the server has taken since.
func (s *mailServer) take() []delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := s.got
	s.got = nil
	return got
}

func (s *mailServer) NewSession(c *server.Conn) (server.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions++
	_, encrypted := c.TLSConnectionState()
	return &session{server: s, delivery: delivery{tls: encrypted, hello: c.Hostname()}}, nil
}

type session struct {
	server *mailServer
	delivery
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "plans" || password != "s3cret" {
			return &server.SMTPError{Code: 535, EnhancedCode: server.EnhancedCode{5, 7, 8}, Message: "not " + user + " with " + password}
		}
		s.user = user
		return nil
	}), nil
}

func (s *session) Mail(from string, o *server.MailOptions) error {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.from, s.utf8 = from, o.UTF8
	return s.server.mail
}

func (s *session) Rcpt(to string, _ *server.RcptOptions) error {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.to = to
	return s.server.rcpt
}

func (s *session) Data(r io.Reader) (err error) {
	if s.text, err = io.ReadAll(r); err != nil {
		return err
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if says, ok := s.server.data.(*server.SMTPError); s.server.data == nil || ok && says.Code == 250 {
		s.server.got = append(s.server.got, s.delivery)
	}
	return s.server.data
}

func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }

// noEnhanced is the enhanced code of an answer without.
var noEnhanced = [3]int(server.NoEnhancedCode)

// says is an answer of a server.
func says(code int, enhanced [3]int, message string) error {
	return &server.SMTPError{Code: code, EnhancedCode: enhanced, Message: message}
}

// notice returns a notice with every field filled.
func notice() checkout.PayerNotice {
	return checkout.PayerNotice{ID: "ntc_0123", At: time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC),
		To: checkout.Addressee{Name: "Ānaru 李小龙", Email: "anaru@student.example"}, ReplyTo: "help@kowhai.example",
		Subject: "Your payment plan agreement PPA-2026-1 – Kōwhai", Text: "Kia ora Ānaru 李小龙,\n\n$53.65 …\n.\nend\n", HTML: "<p>Kia ora Ānaru 李小龙</p>\n",
		Attachments: []checkout.Attachment{{Name: "PPA-2026-1.pdf", MediaType: "application/pdf", Bytes: []byte("%PDF-1.7\r\n\x00\xff.\r\n")}}}
}
