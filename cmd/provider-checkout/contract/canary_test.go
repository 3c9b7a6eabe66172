package contract_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/desk"
	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/in/httpserver"
	"github.com/provider-checkout/provider-checkout/adapters/in/ops"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Section 7, "the response never includes secrets", and more: no secret and no personal data leaves the
// store except where the contract sends it. Marked values go through every flow and every failure; then
// the log, the answers and the events are searched for them.

const (
	operatorSecret = "canary-operator-secret-0123456789abcdef"
	signingSecret  = "whsec_canary_0123456789abcdef"
	canaryFirst    = "Canaryfirst"
	canaryLast     = "Canarylast"
	canaryEmail    = "canary.email@students.example.ac.nz"
	canaryHolder   = "Canaryholder"
	canaryCreate   = `{"provider": {"provider_code": "KOWHAI", "provider_order_id": "ORDER"},
		"student": {"first_name": "` + canaryFirst + `", "last_name": "` + canaryLast + `", "email": "` + canaryEmail + `"},
		"course": {"course_code": "NZDIP"},
		"plan": {"payment_frequency": "Weekly", "first_payment_date": "2027-02-01"}}`
)

var canaryProviders = strings.Replace(providers, "whsec_kowhai_0123456789abcdef", signingSecret, 1)

// canaryBase is the secret part of the account number, apiclient.AccountNumber; its payer sees canaryMask.
const (
	canaryBase = "0068389"
	canaryMask = "01-0902-•••••89-00"
)

// person is the personal data, each value as a whole or its most identifying part.
var person = []string{canaryFirst, canaryLast, canaryEmail, "canary.email", canaryHolder, canaryBase, "01-0902", "010902", "•"}

// confirmFields are the fields of section 2.4.
var confirmFields = []string{
	"provider.provider_code", "provider.provider_order_id",
	"checkout.checkout_id", "checkout.checkout_token", "checkout.opportunity_id", "checkout.dda_id",
	"payment.payment_method", "payment.first_payment_date", "payment.deposit_confirmed",
	"declarations.payment_plan_accepted", "declarations.information_confirmed",
	"declarations.privacy_consent_accepted",
}

// timeOfLine is the time of a line of the log, whose nanoseconds may be the digits of a canary by chance.
var timeOfLine = regexp.MustCompile(`"time":"[-0-9T:.Z+]*",`)

// mine is a sandbox full of canaries, all of whose parts can fail, and its answers.
type mine struct {
	*suite
	store *faulty
	press *press
	bank  *bank

	secrets []string // except the setup tokens
	tokens  []string
	api     []response
	pages   []response
}

func withCanaries(c *service.Config, o *httpapi.Options) *mine {
	keyring, err := checkout.NewKeyring([]byte(operatorSecret))
	if err != nil {
		panic(err) // the secret is long enough
	}
	c.Keyring = keyring
	return &mine{store: withFaultyStore(c, o), press: withPress(c, o), bank: withBank(c, o)}
}

func (m *mine) call(t *testing.T, method, path, body string, headers ...string) response {
	t.Helper()
	r := m.Send(t, method, path, body, append([]string{
		"Authorization", "Bearer " + m.Keys["KOWHAI"], "Content-Type", "application/json"}, headers...)...)
	m.api = append(m.api, r)
	if token := r.String("direct_debit.token"); token != "" {
		m.tokens = append(m.tokens, token)
	}
	return r
}

func (m *mine) open(t *testing.T, path string, form url.Values) response {
	t.Helper()
	var r response
	if form == nil {
		r = m.Send(t, http.MethodGet, path, "")
	} else {
		r = m.Send(t, http.MethodPost, path, form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	}
	m.pages = append(m.pages, r)
	return r
}

// flow goes from a create to a repeated confirm, whatever the answers, with the payer's mistakes on the way.
func (m *mine) flow(t *testing.T, id string) {
	created := m.call(t, http.MethodPost, "/v1/provider-checkouts", order(canaryCreate, id))
	token := created.String("direct_debit.token")
	path := "/v1/provider-checkouts/KOWHAI-1-aaaaaaaaaaaaaaaa"
	if token != "" {
		path = created.CheckoutPath()
	}
	m.call(t, http.MethodPost, "/v1/provider-checkouts", order(canaryCreate, id), "Idempotency-Key", "other-"+id)
	m.call(t, http.MethodGet, path, "")
	m.call(t, http.MethodPost, path+"/confirm", created.ConfirmBody())
	terms := sandbox.ShownTerms(m.open(t, "/api/dd-setup?token="+token, nil))
	m.open(t, "/api/dd-setup/legal?token="+token, nil)
	form := m.open(t, "/api/dd-setup", url.Values{"token": {token}, "terms": {terms}}).Header.Get("Location")
	if form == "" {
		form = sandbox.BankFormPath + "?token=" + token
	}
	m.open(t, form, nil)
	for _, account := range []string{"01-0902-0068388-00", apiclient.AccountNumber} {
		m.open(t, form, url.Values{"account_holder_name": {canaryHolder}, "account_number": {account}, "authority_confirmed": {"yes"}})
	}
	m.open(t, "/api/dd-setup?token="+token, nil)
	m.call(t, http.MethodGet, path, "")
	for range 2 {
		m.call(t, http.MethodPost, path+"/confirm", created.ConfirmBody())
	}
	m.open(t, "/api/dd-setup?token="+token, nil)
}

// mistakes sends the requests with mistakes that a provider's engineer makes.
func (m *mine) mistakes(t *testing.T) {
	const path = "/v1/provider-checkouts"
	created := m.call(t, http.MethodPost, path, order(canaryCreate, "MISTAKES"))
	good, confirm := order(canaryCreate, "MISTAKES-2"), created.ConfirmBody()
	for _, body := range []string{
		"", good + "}", good[:len(good)-2], "\xff" + good, strings.Replace(good, `"last_name"`, `"first_name"`, 1),
		strings.Replace(good, `"email"`, `"Email"`, 1), `"` + canaryEmail + `"`, `["` + canaryEmail + `"]`,
		set(t, good, "student.email", `"`+canaryEmail+` "`), set(t, good, "student.email", `["`+canaryEmail+`"]`),
		set(t, good, "student.first_name", `"`+canaryFirst+`\u0000"`), set(t, good, "student.nickname", `"`+canaryFirst+`"`),
		set(t, good, "student.last_name", `"`+strings.Repeat(canaryLast, 50)+`"`),
		set(t, good, "plan.payment_frequency", `"`+canaryFirst+`"`), set(t, good, "course.course_code", `"`+canaryEmail+`"`),
		set(t, good, "plan.first_payment_date", `"`+canaryLast+`"`), set(t, good, "pricing.course_price", `"`+canaryLast+`"`),
		set(t, good, "provider.provider_code", `"`+canaryFirst+`"`), good + strings.Repeat(" ", 64<<10),
		strings.Replace(order(canaryCreate, "MISTAKES"), "2027-02-01", "2027-03-01", 1),
	} {
		m.call(t, http.MethodPost, path, body)
	}
	one := created.CheckoutPath()
	for _, field := range confirmFields {
		m.call(t, http.MethodPost, one+"/confirm", set(t, confirm, field, `"`+canaryEmail+`"`))
		m.call(t, http.MethodPost, one+"/confirm", set(t, confirm, field, `"`+m.Keys["KOWHAI"]+`"`))
	}
	m.call(t, http.MethodPost, path, good, "Idempotency-Key", canaryEmail+" x")
	m.call(t, http.MethodPost, path, good, "Content-Encoding", "gzip")
	m.call(t, http.MethodGet, one+"?api_key="+m.Keys["KOWHAI"]+"&email="+canaryEmail, "", "Referer", m.URL+"/?"+canaryEmail)
	m.call(t, http.MethodGet, "/v1/nothing?token="+created.String("direct_debit.token"), "", "User-Agent", canaryEmail)
	for _, bad := range []string{m.Keys["KOWHAI"] + "x", signingSecret, operatorSecret} {
		m.api = append(m.api, m.Send(t, http.MethodGet, one, "", "Authorization", "Bearer "+bad))
	}
	m.call(t, http.MethodGet, path+"/"+created.String("direct_debit.token"), "")
	m.call(t, http.MethodPost, path+"/"+created.String("direct_debit.token")+"/confirm", confirm)
	m.call(t, http.MethodGet, "/v1/"+m.Keys["KOWHAI"], "")
	m.open(t, "/api/dd-setup/"+created.String("direct_debit.token"), nil)
	m.open(t, "/api/dd-setup?token="+created.String("direct_debit.token")+"x", nil)
	m.open(t, "/api/dd-setup?token="+m.Keys["KOWHAI"], nil)
}

// failures runs the flow once with each part failing.
func (m *mine) failures(t *testing.T) {
	broken := errors.New("the cable is out")
	for _, fault := range []func() error{
		func() error { return broken }, func() error { return fmt.Errorf("wait: %w", ports.ErrBusy) }, func() error { panic(broken) },
	} {
		for _, need := range []string{"Key", "Providers", "Course", "Checkout", "FindCheckout",
			"InsertCheckout", "UpdateCheckout"} {
			m.Clock.Forward(5 * time.Second) // what the operator configured is read again
			m.store.fail(func(call string) error {
				if call == need {
					return fault()
				}
				return nil
			})
			m.flow(t, fmt.Sprint("FAILS-", len(m.api)))
		}
	}
	m.store.fail(nil)
	m.bank.down()
	m.flow(t, "BANK-DOWN")
	m.bank.sayMandate(checkout.MandateCancelled)
	m.flow(t, "MANDATE-CANCELLED")
	m.bank.say(nil)
	m.press.does = func(int) error { return broken }
	m.flow(t, "PRESS-FAILS")
	m.press.does = func(int) error { panic(broken) }
	m.flow(t, "PRESS-PANICS")
	m.Receiver.AnswerWith(func(delivery) int { return http.StatusInternalServerError })
	m.call(t, http.MethodPost, "/v1/provider-checkouts", order(canaryCreate, "HOOKS-FAIL"))
}

func TestContract7NoSecretAndNothingAboutAPersonLeaks(t *testing.T) {
	withTheFake(t)
	contractWith(t, withCanaries, func(t *testing.T, s *suite, m *mine) {
		m.suite = s
		s.Configure(t, canaryProviders)
		for _, key := range s.Keys {
			m.secrets = append(m.secrets, key, strings.Split(key, "_")[3])
		}
		m.secrets = append(m.secrets, operatorSecret, signingSecret, "the cable is out")
		m.flow(t, "GOOD")
		if last := m.api[len(m.api)-1]; last.At("already_confirmed") != true {
			t.Fatalf("the flow ends with %d %s", last.Status, last.Body)
		}
		m.mistakes(t)
		m.failures(t)
		m.atTheDesk(t)
		m.search(t)
	})
}

// search looks for the canaries.
func (m *mine) search(t *testing.T) {
	signatures := make([]string, len(m.tokens)) // the secret part of a token; the rest starts with the checkout's id
	for i, token := range m.tokens {
		signatures[i] = token[strings.LastIndex(token, ".")+1:]
	}
	for _, r := range m.api {
		if leaks(r, m.secrets...) || leaks(r, person...) {
			t.Errorf("an answer leaks: %d %s %v", r.Status, r.Body, r.Header)
		}
		if r.String("direct_debit.token") == "" && leaks(r, signatures...) {
			t.Errorf("an answer other than a create's has a token: %d %s %v", r.Status, r.Body, r.Header)
		}
	}
	masked := 0
	for _, r := range m.pages {
		if leaks(r, m.secrets...) || leaks(r, canaryEmail) {
			t.Errorf("a page leaks: %d %s %v", r.Status, r.Body, r.Header)
		}
		form := strings.Contains(r.Body, `name="account_number"`) // which has the number as an example
		if !form && leaks(r, canaryBase) {
			t.Errorf("a page shows the account number: %d %s", r.Status, r.Body)
		}
		if strings.Contains(r.Body, canaryMask) {
			masked++
		}
	}
	if masked == 0 {
		t.Errorf("no page shows the payer %q", canaryMask)
	}
	for _, hook := range m.Receiver.Deliveries() {
		event := response{Body: string(hook.Body), Header: hook.Header}
		if leaks(event, m.secrets...) || leaks(event, person...) || leaks(event, signatures...) {
			t.Errorf("an event leaks: %s %v", event.Body, event.Header)
		}
	}
	log := m.Log.String()
	searched := append(append(signatures, person...), m.secrets[:len(m.secrets)-1]...) // a fault's own words belong there
	for line := range strings.Lines(log) {
		if leaks(response{Body: timeOfLine.ReplaceAllString(line, "")}, searched...) {
			t.Errorf("the log leaks: %s", line)
		}
		if !json.Valid([]byte(line)) {
			t.Errorf("a line of the log is no JSON: %q", line)
		}
	}
	for _, r := range append(m.api, m.pages...) {
		if id := r.Header.Get("X-Request-Id"); id == "" || !strings.Contains(log, id) {
			t.Errorf("request %q is not on the log", id)
		}
	}
}

func TestContract7NothingThatIsSentForgesALineOfTheLog(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		const forged = `{"level":"INFO","msg":"forged"}`
		for _, path := range []string{"/v1/\r\n" + forged, "/v1/\x1b[2J" + forged, "/v1/provider-checkouts/\n" + forged, "/v1/" + forged} {
			s.Send(t, http.MethodGet, (&url.URL{Path: path}).EscapedPath(), "", "Authorization", "Bearer "+s.Keys["KOWHAI"])
		}
		s.Post(t, "KOWHAI", "/v1/provider-checkouts", order(catalogueCreate, `\r\n`+strings.ReplaceAll(forged, `"`, `\"`)))
		lines := 0
		for line := range strings.Lines(s.Log.String()) {
			lines++
			var got struct{ Msg string }
			if err := json.Unmarshal([]byte(line), &got); err != nil || got.Msg != "request" {
				t.Errorf("line %q: %v", line, err)
			}
		}
		if lines != 5 {
			t.Errorf("5 requests made %d lines", lines)
		}
	})
}

func TestContract5NoKeyTokenOrSecretIsInTheStoresFiles(t *testing.T) {
	dir := t.TempDir()
	db, err := sqlite.Open(t.Context(), filepath.Join(dir, "store.db"),
		sqlite.Options{Environment: catalogue.Sandbox, Secrets: [][]byte{[]byte(operatorSecret)}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var m *mine
	s := newSuite(t, sandbox.On(db), func(c *service.Config, o *httpapi.Options) { m = withCanaries(c, o) })
	m.suite = s
	s.Configure(t, canaryProviders)
	m.flow(t, "GOOD")

	var kept strings.Builder
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		kept.Write(text)
	}
	if !strings.Contains(kept.String(), canaryEmail) {
		t.Fatal("the search does not find what is kept")
	}
	key, token := s.Keys["KOWHAI"], m.tokens[0]
	for what, text := range map[string]string{
		"an API key": strings.Split(key, "_")[3], "a setup token": token[strings.LastIndex(token, ".")+1:],
		"the signing secret": signingSecret, "the operator's secret": operatorSecret, "the account number": canaryBase,
	} {
		if strings.Contains(kept.String(), text) {
			t.Errorf("%s is in the store's files", what)
		}
	}
}

// atTheDesk has an agent open every page of the desk and look at the student's data. The pages that mask the data are searched with
// the payer's pages, the log too, and here the routes of the metrics.
func (m *mine) atTheDesk(t *testing.T) {
	registry, server := ops.NewRegistry(), httptest.NewUnstartedServer(nil)
	at := "http://" + server.Listener.Addr().String()
	handler, err := desk.New(desk.Options{Settings: desk.Settings{URL: at}, Store: m.Store, Keyring: m.Config.Keyring, Sandbox: true,
		SetupLifetime: time.Hour, Log: httpserver.NewLog(m.Log), Now: m.Clock.Now, Observe: ops.NewMetrics(registry).ObserveRequest})
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = handler
	server.Start()
	t.Cleanup(server.Close)

	get := func(path string) response {
		return m.Send(t, http.MethodGet, at+path, "", "Referer", at+"/find?q="+canaryEmail)
	}
	post := func(path string, fields url.Values) response {
		return m.Send(t, http.MethodPost, at+path, fields.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Origin", at)
	}
	one := get("/find?q=GOOD").Header.Get("Location")
	if !strings.HasPrefix(one, "/checkouts/KOWHAI-") {
		t.Fatalf("the order leads to %q", one)
	}
	shown := []response{get("/"), get("/find"), get("/find?q=" + canaryLast), get("/find?trouble=events"), get("/providers"),
		get("/providers/KOWHAI"), get(one), get("/checkouts/" + strings.Repeat("x", 99)), post(one+"/reveal", nil),
		post(one+"/reveal", url.Values{"reason": {"two\nlines"}})}
	for _, page := range shown {
		if leaks(page, canaryHolder) {
			t.Errorf("a page of the desk shows the account holder: %d %s", page.Status, page.Body)
		}
	}
	m.pages = append(m.pages, shown...)
	get("/find?q=" + canaryEmail) // leads to the checkouts; none of it may be logged
	if page := post(one+"/reveal", url.Values{"reason": {canaryEmail}}); page.Status != http.StatusUnprocessableEntity {
		t.Errorf("a reason that has the student's address is answered %d", page.Status)
	}
	if page := post(one+"/reveal", url.Values{"reason": {"ticket 7"}}); !leaks(page, canaryEmail) || !leaks(page, canaryHolder) {
		t.Errorf("what an agent asks to see is not shown: %d %s", page.Status, page.Body)
	}
	metrics, err := registry.Gather()
	if all := fmt.Sprint(metrics); err != nil || !strings.Contains(all, "/checkouts/{id}") || leaks(response{Body: all}, person...) {
		t.Errorf("the metrics are %s, %v; want the desk's routes, and nothing of a person", all, err)
	}
}
