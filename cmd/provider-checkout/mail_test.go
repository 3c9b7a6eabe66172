package main

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// relay is a mail server on loopback for one user, which passes on what it takes.
type relay chan string

// newRelay starts a relay and returns its address.
func newRelay(t *testing.T) (relay, string) {
	t.Helper()
	r := make(relay, 8)
	s := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &relayed{relay: r}, nil }))
	s.Domain, s.AllowInsecureAuth, s.ReadTimeout = "mail.example", true, 2*time.Minute
	ln := sample.Listen(t)
	var serving sync.WaitGroup
	serving.Go(func() { s.Serve(ln) })
	t.Cleanup(func() { s.Close(); serving.Wait() })
	return r, ln.Addr().String()
}

// brings fails unless a message to an address comes, with a text in it.
func (r relay) brings(t *testing.T, text, address string) {
	t.Helper()
	select {
	case message := <-r:
		if !strings.HasPrefix(message, "By plans to "+address+"\n") || !strings.Contains(message, "@lender.example>\r\n") ||
			!strings.Contains(message, text) {
			t.Errorf("the message does not say %q:\n%.900s", text, message)
		}
	case <-time.After(2 * time.Minute):
		t.Fatalf("no e-mail with %q", text)
	}
}

type relayed struct {
	relay relay
	user  string
	to    string
}

func (r *relayed) AuthMechanisms() []string { return []string{sasl.Plain} }

func (r *relayed) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "plans" || password != "hunter2" {
			return smtp.ErrAuthFailed
		}
		r.user = user
		return nil
	}), nil
}

func (r *relayed) Mail(string, *smtp.MailOptions) error { return nil }

func (r *relayed) Rcpt(to string, _ *smtp.RcptOptions) error {
	r.to = to
	return nil
}

func (r *relayed) Data(body io.Reader) error {
	text, err := io.ReadAll(body)
	if err == nil {
		r.relay <- "By " + r.user + " to " + r.to + "\n" + string(text)
	}
	return err
}

func (r *relayed) Reset()        {}
func (r *relayed) Logout() error { return nil }

// A payer is sent two e-mails, the first without any call of the provider, the proof is on record until it is erased, and the log has nothing personal.
func TestServeNotifiesPayersByEmail(t *testing.T) {
	t.Parallel()
	relay, addr := newRelay(t)
	o := newOperator(t)
	providers := strings.ReplaceAll(sandbox.Providers, "HOOKS", "https://127.0.0.1:9") // where nothing is sent to
	o.does(t, "apply", "-f", proc.TempFile(t, providers))
	key := o.prints(t, "keys", "issue", "--provider", "KOWHAI")
	s := startedWith(t, []string{smtpUserVariable + "=plans", smtpPasswordVariable + "_FILE=" + proc.TempFile(t, "hunter2\n")},
		"--store", "sqlite:"+o.path, "--smtp", "smtp://"+addr, "--mail-from", "Kōwhai payments <plans@lender.example>")
	provider := sandbox.Sandbox{URL: s.base, Keys: map[string]string{"KOWHAI": strings.TrimSpace(key)}}
	created := provider.Create(t, "ENROL-1")
	if err := apiclient.NewBrowser(&http.Client{}).SetUp(t.Context(), created.String("direct_debit.setup_url")); err != nil {
		t.Fatal(err)
	}
	address := "aroha.ngata@students.example.ac.nz"
	relay.brings(t, "Your direct debit", address)
	confirmed := provider.Confirm(t, created)
	relay.brings(t, confirmed.String("agreement.number")+".pdf", address)
	code, _, logged := s.stop()
	if code != exitDone || strings.Contains(logged, address) || strings.Contains(logged, "hunter2") {
		t.Errorf("status %d:\n%s", code, logged)
	}
	for _, args := range [][]string{{"export"}, {"privacy", "export", "--email", address}} {
		out := o.prints(t, args...)
		if n := strings.Count(out, `"kind":"notice"`); n != 2 || strings.Count(out, `"status":"sent","attempts":1,"sent_at":"`) != 2 ||
			strings.Count(out, `250 2.0.0 OK: queued"`) != 2 {
			t.Errorf("%q has %d notices:\n%s", args, n, out)
		}
	}
	o.does(t, "privacy", "erase", "--email", address, "--reason", "asked", "--force")
	if out := o.prints(t, "export"); strings.Count(out, `"status":"sent"`) != 2 || strings.Contains(out, "OK: queued") {
		t.Errorf("after the erasure:\n%s", out)
	}
}
