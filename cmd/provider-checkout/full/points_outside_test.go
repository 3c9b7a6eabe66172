package full_test

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// pointOutside is Salesforce and a mail server, both behind the gate, for a world that has them.
type pointOutside struct {
	salesforce *salesforcetest.Simulator
	url, smtp  string // addresses of the two

	mu      sync.Mutex
	letters map[string]string // subjects, by Message-ID
}

// newOutside starts Salesforce and a mail server.
func newOutside(t *testing.T, g *gate) *pointOutside {
	t.Helper()
	o := &pointOutside{letters: make(map[string]string),
		salesforce: salesforcetest.New(salesforcetest.Options{ClientID: clientID, ClientSecret: clientSecret, Sandbox: true})}
	org := httptest.NewServer(g.around(func(r *http.Request) string {
		return "Salesforce: " + r.Method + " " + idsInPaths.ReplaceAllString(r.URL.Path, "{id}")
	}, o.salesforce))
	o.url = org.URL
	s := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &letterbox{o, g}, nil }))
	s.Domain, s.ReadTimeout = "mail.example", 5*time.Second
	ln := sample.Listen(t)
	var serving sync.WaitGroup
	serving.Go(func() { s.Serve(ln) })
	o.smtp = ln.Addr().String()
	t.Cleanup(func() { org.Close(); s.Close(); serving.Wait() })
	return o
}

// args are the settings of a process that uses both, and env its secrets.
func (o *pointOutside) args() []string {
	return []string{"--crm", "salesforce", "--salesforce-url", o.url, "--smtp", "smtp://" + o.smtp, "--mail-from", "plans@lender.example"}
}

func (o *pointOutside) env() []string {
	return []string{"PROVIDER_CHECKOUT_SALESFORCE_CLIENT_ID=" + clientID, "PROVIDER_CHECKOUT_SALESFORCE_CLIENT_SECRET=" + clientSecret}
}

// letterbox takes e-mails, each through the gate.
type letterbox struct {
	outside *pointOutside
	gate    *gate
}

func (l *letterbox) Mail(string, *smtp.MailOptions) error { return nil }
func (l *letterbox) Rcpt(string, *smtp.RcptOptions) error { return nil }
func (l *letterbox) Reset()                               {}
func (l *letterbox) Logout() error                        { return nil }

func (l *letterbox) Data(body io.Reader) error {
	m, err := mail.ReadMessage(body)
	if err != nil {
		return err
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil {
		return err
	}
	if !l.gate.cross("e-mail", func() {
		l.outside.mu.Lock()
		defer l.outside.mu.Unlock()
		l.outside.letters[m.Header.Get("Message-ID")] = subject
	}) {
		return errors.New("the answer is lost")
	}
	return nil
}

// checkEnd checks that everybody outside has the end of the mandate, or that of the checkout, once.
func (o *pointOutside) checkEnd(t *testing.T, ends string) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	said, agreements, mandate, records := "has ended", 1, "failed", 0
	switch ends {
	case withdrawStep:
		said, mandate, records = "is withdrawn", "cancelled", 1
	case cancelCheckoutStep:
		said, agreements, mandate, records = "is cancelled", 0, "", 1
	}
	counted := map[bool]int{}
	for _, subject := range o.letters {
		if !strings.Contains(subject, "is set up") { // which the agreement's letter says too if it is due by then
			counted[strings.Contains(subject, said)]++
		}
	}
	if counted[true] != 1 || counted[false] != agreements {
		t.Errorf("the payer was sent %q, want %d letters of an agreement, and one that it %s", o.letters, agreements, said)
	}
	ended := 0
	for _, e := range o.salesforce.Journal() {
		if slices.Contains(e.Changed, "Ended_At__c") && e.Fields["Ended_At__c"] != "" {
			ended++
		}
	}
	if ended != records {
		t.Errorf("Salesforce was told of %d ends, want %d", ended, records)
	}
	if agreements == 0 { // Salesforce has no mandate
		return
	}
	writes := 0
	for _, e := range o.salesforce.Journal() {
		if slices.Contains(e.Changed, "Mandate_Status__c") && e.Fields["Mandate_Status__c"] == mandate {
			writes++
		}
	}
	authorities := o.salesforce.Records("Direct_Debit_Authority__c")
	reason := map[string]string{"failed": "DISHONOUR-AC04"}[mandate]
	if len(authorities) != 1 || authorities[0]["Mandate_Status__c"] != mandate || authorities[0]["Mandate_Reason__c"] != reason ||
		authorities[0]["Mandate_Changed_At__c"] == "" || writes != 1 {
		t.Errorf("Salesforce has the authorities %v, whose status changed to %s %d times", authorities, mandate, writes)
	}
}

// TestAKillAtAnyPointOfTheEndOfACheckoutEndsItOnceEverywhere kills a process at each exchange that a withdrawal, or a cancel, leads to:
// the request, GoCardless, Salesforce, the event and the e-mail.
func TestAKillAtAnyPointOfTheEndOfACheckoutEndsItOnceEverywhere(t *testing.T) {
	t.Parallel()
	for _, ends := range []string{withdrawStep, cancelCheckoutStep} {
		t.Run(ends, func(t *testing.T) {
			t.Parallel()
			s := &pointSuite{Binary: built(t), tries: 1, store: newFile, outside: true, only: ends, ends: ends}
			s.run(t, map[manner]int{killed: 1, killedAlone: 1})
		})
	}
}

// TestAKillAtAnyPointOfTheEndOfAMandateLeavesEverybodyToldOnce kills a process at each exchange that the end of a mandate after the
// confirm leads to: the notification, the questions, the event, Salesforce and the e-mail.
func TestAKillAtAnyPointOfTheEndOfAMandateLeavesEverybodyToldOnce(t *testing.T) {
	t.Parallel()
	s := &pointSuite{Binary: built(t), tries: 1, store: newFile, outside: true, only: endStep}
	s.run(t, map[manner]int{killed: 1, killedAlone: 1})
}
