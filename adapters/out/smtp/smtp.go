// Package smtp notifies payers by e-mail, through a mail server that takes messages over: the operator's own relay, or a
// provider's submission service.
//
//	notifier, err := smtp.New(smtp.Options{
//		URL:  "smtp://mail.example:587",
//		From: "Kōwhai payments <plans@lender.example>",
//		User: user, Password: password,
//	})
//	svc, err := service.New(service.Config{…, Notifier: notifier})
//
// # How it is sent
//
// The URL names the server: smtp:// upgrades the connection with STARTTLS, and a server without it gets nothing; smtps:// begins
// with TLS. The certificate must be valid for the host, by the roots of the machine. Only to a server on loopback does smtp:// go
// without TLS. The port is 587, or 465 for smtps://, unless the URL has another. A user and a password are sent by AUTH PLAIN or LOGIN.
//
// Every step has a time-out of its own. The error of a server that cannot be reached, or that refuses the user or the sender, wraps
// [ports.ErrBusy]. A 5xx about the mailbox (5.1.x, 5.2.x; or 550, 551 or 553 to RCPT) is a [checkout.NoticeRefusal], and final. Any other
// refusal is one that the server's operator or ours can mend. Every attempt has the Message-ID <ntc_…@domain of From>, so that a copy
// that was sent because an answer was lost is known for one. The receipt is the Message-ID and the server's answer: the proof of
// sending, not of delivery.
package smtp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	netmail "net/mail"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail"
	client "github.com/wneessen/go-mail/smtp"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

var _ ports.PayerNotifier = (*Notifier)(nil)

// stepTimeout bounds every step: the connection with its TLS and AUTH, each command, and the message.
const stepTimeout = 10 * time.Second

// maxAnswers is the number of bytes that are read of a connection: several times the size of the answers and a chain of certificates.
const maxAnswers = 256 << 10

// Options is the way to the mail server.
type Options struct {
	URL            string // smtp://host:port or smtps://host:port
	From           string // an address, or a name and an address: "Kōwhai payments <plans@lender.example>"
	User, Password string // for AUTH; without a User nothing is authenticated
	Host           string // of the base URL, by which EHLO names the client: a machine's own name may be any; "" for localhost
}

// Notifier sends notices through a mail server. It is safe for concurrent use: every notice has a connection of its own.
type Notifier struct {
	host     string
	port     int
	implicit bool // TLS from the first byte
	plain    bool // no TLS: the server is on loopback
	from     netmail.Address
	user     string
	password string
	hello    string
	step     time.Duration
	tls      *tls.Config
	dial     func(ctx context.Context, network, addr string) (net.Conn, error)
}

// New returns a notifier. It connects to nothing. Its error names everything that is wrong.
func New(o Options) (*Notifier, error) {
	var dialer net.Dialer
	n := &Notifier{user: o.User, password: o.Password, hello: hello(o.Host), step: stepTimeout, dial: dialer.DialContext}
	wrongURL := n.setURL(o.URL)
	from, wrongFrom := netmail.ParseAddress(o.From)
	if wrongFrom != nil {
		wrongFrom = fmt.Errorf("sender %q is not an address such as plans@lender.example or Lender <plans@lender.example>", o.From)
	} else if n.from = *from; !ascii(inASCII(from.Address)) {
		wrongFrom = fmt.Errorf("sender %q has letters before its @ that not every mail server takes: they must be ASCII", o.From)
	}
	n.from.Address = inASCII(n.from.Address)
	var wrongUser error
	if (o.User == "") != (o.Password == "") {
		wrongUser = errors.New("a user needs a password, and a password a user")
	}
	if err := errors.Join(wrongURL, wrongFrom, wrongUser); err != nil {
		return nil, err
	}
	n.tls = &tls.Config{ServerName: n.host, MinVersion: tls.VersionTLS12}
	return n, nil
}

// hello returns the name in EHLO: a host, or an address literal (RFC 5321, section 4.1.3).
func hello(host string) string {
	switch ip, err := netip.ParseAddr(host); {
	case err == nil && ip.Is6():
		return "[IPv6:" + host + "]"
	case err == nil:
		return "[" + host + "]"
	}
	return cmp.Or(host, "localhost")
}

// setURL sets what the URL says. Its error does not repeat the URL, which may have a password in it.
func (n *Notifier) setURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Scheme != "smtp" && u.Scheme != "smtps", u.Hostname() == "":
		return errors.New("the address of the mail server must be smtp://host:port or smtps://host:port")
	case u.User != nil:
		return errors.New("the address of the mail server must not have the user in it")
	case u.Path != "" && u.Path != "/", u.RawQuery != "", u.Fragment != "":
		return errors.New("the address of the mail server must have nothing after host and port")
	}
	n.host, n.implicit = u.Hostname(), u.Scheme == "smtps"
	n.plain = !n.implicit && outbound.Loopback(n.host)
	usual := "587"
	if n.implicit {
		usual = "465"
	}
	if n.port, err = strconv.Atoi(cmp.Or(u.Port(), usual)); err != nil || n.port < 1 || n.port > 65535 {
		return errors.New("the address of the mail server has no valid port")
	}
	return nil
}

// Notify implements [ports.PayerNotifier].
func (n *Notifier) Notify(ctx context.Context, notice checkout.PayerNotice) (receipt string, err error) {
	redact := n.redactor(notice.To.Email)
	notice.To.Email, notice.ReplyTo = inASCII(notice.To.Email), inASCII(notice.ReplyTo)
	server, closeConn, err := n.connect(ctx, notice.To.Email)
	if err != nil {
		return "", failure(ctx, redact, "reach the mail server", nil, err)
	}
	defer closeConn()
	defer n.command(server, min(n.step, quitTimeout), server.Quit)
	if takes, _ := server.Extension("SMTPUTF8"); !takes && !ascii(notice.To.Email) {
		return "", &checkout.NoticeRefusal{Answer: "the mailbox has letters that are not ASCII, and the mail server takes none (SMTPUTF8)"}
	}
	if err := n.command(server, n.step, func() error { return server.Mail(envelope(n.from.Address)) }); err != nil {
		return "", failure(ctx, redact, "name the sender", nil, err)
	}
	if err := n.command(server, n.step, func() error { return server.Rcpt(envelope(notice.To.Email)) }); err != nil {
		return "", failure(ctx, redact, "name the recipient", noMailbox, err)
	}
	var answer string
	err = n.command(server, n.step, func() error { answer, err = hand(server, n.message(notice)); return err })
	if err != nil {
		return "", failure(ctx, redact, "hand over the message", badMailbox, err)
	}
	return n.messageID(notice.ID) + " " + redact(oneLine("250 "+answer)), nil
}

// quitTimeout bounds the wait for the answer to QUIT. What was taken over is on record only after it.
const quitTimeout = time.Second

// command makes one step within a time-out.
func (n *Notifier) command(server *client.Client, timeout time.Duration, step func() error) error {
	if err := server.UpdateDeadline(timeout); err != nil {
		return err
	}
	return step()
}

// hand sends the message, and returns the server's answer without its code, which is 250.
func hand(server *client.Client, message *mail.Msg) (string, error) {
	w, err := server.Data()
	if err != nil {
		return "", err
	}
	if _, err := message.WriteTo(w); err != nil {
		return "", err // the connection is closed without the end of the message, which the server forgets then
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return w.(*client.DataCloser).ServerResponse(), nil
}

// connect returns a connection on which a message may be sent, and what closes it. It is closed too when ctx ends.
func (n *Notifier) connect(ctx context.Context, to string) (_ *client.Client, closeConn func(), err error) {
	closeConn = func() {}
	defer func() {
		if err != nil { // the library leaves a connection open that it cannot use
			closeConn()
		}
	}()
	dial := func(dialling context.Context, network, addr string) (net.Conn, error) {
		conn, err := n.dial(dialling, network, addr)
		if err != nil {
			return nil, err
		}
		conn = boundedConn{conn, io.LimitReader(conn, maxAnswers)}
		stop := context.AfterFunc(ctx, func() { conn.Close() })
		closeConn = func() { stop(); conn.Close() }
		if !n.implicit {
			return conn, nil
		}
		secure := tls.Client(conn, n.tls)
		return secure, secure.HandshakeContext(dialling)
	}
	policy := mail.TLSMandatory
	if n.plain || n.implicit {
		policy = mail.NoTLS // by STARTTLS
	}
	options := []mail.Option{mail.WithPort(n.port), mail.WithTimeout(n.step), mail.WithTLSPolicy(policy), mail.WithTLSConfig(n.tls),
		mail.WithDialContextFunc(dial), mail.WithHELO(n.hello)}
	if ascii(to) { // a server further on that knows no SMTPUTF8 would return the message
		options = append(options, mail.WithoutSMTPUTF8())
	}
	c, err := mail.NewClient(n.host, options...)
	if err != nil {
		return nil, closeConn, err
	}
	server, err := c.DialToSMTPClientWithContext(ctx)
	if err == nil {
		err = n.authenticate(server)
	}
	return server, closeConn, err
}

// authenticate sends the user and the password, if there are any: only over TLS, or on loopback.
func (n *Notifier) authenticate(server *client.Client) error {
	if n.user == "" {
		return nil
	}
	_, offered := server.Extension("AUTH")
	methods := strings.Fields(strings.ToUpper(offered))
	auth := client.PlainAuth("", n.user, n.password, n.host, n.plain)
	if !slices.Contains(methods, "PLAIN") {
		auth = client.LoginAuth(n.user, n.password, n.host, n.plain)
		if !slices.Contains(methods, "LOGIN") {
			return fmt.Errorf("the mail server takes a user by %q, and neither by PLAIN nor by LOGIN", methods)
		}
	}
	return n.command(server, n.step, func() error { return server.Auth(auth) })
}

// boundedConn is a connection that ends where a server has said more than a mail server does.
type boundedConn struct {
	net.Conn
	answers io.Reader
}

func (c boundedConn) Read(into []byte) (int, error) { return c.answers.Read(into) }
