package service_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"html/template"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// A setup page of your own over the service: SetupPage returns everything that it shows, and BeginSetup records the
// payer's consent and returns where the browser goes. The form names what it shows.
func Example_setupPage() {
	ctx := context.Background()
	bank := newRemoteBank()
	defer bank.server.Close()
	checkouts, _, closeServer := serveWith(memory.New(), bank)
	defer closeServer()
	opened, err := checkouts.Create(ctx, service.Caller{ProviderCode: "RIMU"}, legacyOrder("ENROLMENT-1"))
	check(err)

	page, err := checkouts.SetupPage(ctx, opened.Token)
	check(err)
	ours := template.Must(template.New("page").Parse(`{{.State}}: {{.Checkout.Intent.CourseName}} at {{.Provider.DisplayName}}
{{range .Payments}}{{.Taken}} {{.Amount.Dollars}}
{{end}}`))
	check(ours.Execute(os.Stdout, page))

	// The payer presses the button of our form, whose hidden field has the name of page.Disclosure().
	next, err := checkouts.BeginSetup(ctx, opened.Token,
		checkout.Acceptance{From: "203.0.113.7", TermsID: page.Disclosure().Name(), Page: "/pay"})
	check(err)
	fmt.Println("on to the bank:", strings.HasPrefix(next, bank.server.URL))

	// Output:
	// open: Carpentry, Level 4 at Rimu College
	// 2027-02-01 $250.00
	// 2027-02-08 $250.00
	// 2027-02-15 $250.00
	// 2027-02-22 $250.00
	// on to the bank: true
}

// An authenticator of your own in front of the API, for providers that are known by a client certificate or a gateway's
// header. The refusals keep the contract's words.
func Example_authenticator() {
	bank := newRemoteBank()
	defer bank.server.Close()
	checkouts, _, closeServer := serveWith(memory.New(), bank)
	defer closeServer()

	api := httpapi.New(checkouts, httpapi.Options{
		Authenticate: func(r *http.Request) (service.Caller, error) {
			code := r.Header.Get("X-Gateway-Provider") // which only the gateway can set
			if code == "" {
				return service.Caller{}, checkout.MissingAPIKey("call through the gateway")
			}
			return service.Caller{ProviderCode: code}, nil
		},
	})
	for _, code := range []string{"", "RIMU"} {
		r := httptest.NewRequest(http.MethodGet, "/v1/provider-checkouts/RIMU-1-unknown", nil)
		r.Header.Set("X-Gateway-Provider", code)
		answer := httptest.NewRecorder()
		api.ServeHTTP(answer, r)
		fmt.Println(answer.Code, strings.Split(answer.Body.String(), `"`)[7])
	}
	// Output:
	// 401 MISSING_API_KEY
	// 404 CHECKOUT_NOT_FOUND
}

// exampleConfig returns the configuration of a sandbox. Example has a whole one.
func exampleConfig(store ports.Store, bank ports.Processor) service.Config {
	return service.Config{
		Environment: catalogue.Sandbox,
		BaseURL:     "http://localhost:8080",
		Keyring:     exampleKeyring(),
		Store:       store,
		Processor:   bank,
		CRM:         service.EmbeddedCRM(catalogue.Sandbox),
		Printer:     blankPages{},
		Sender:      noEvents{},
		Now:         exampleTime,
		Rand:        rand.Reader,
		Report:      func(_ context.Context, f service.Failure) { fmt.Println(f.Operation, f.Err) },
	}
}

// exampleBegan is the start of the program.
var exampleBegan = time.Now()

// exampleTime is a clock that began before the example's first payment, whose date the output names. Use time.Now.
func exampleTime() time.Time {
	return time.Date(2027, time.January, 4, 0, 0, 0, 0, time.UTC).Add(time.Since(exampleBegan))
}

// exampleKeyring returns a keyring with a public secret. Use at least 32 random bytes.
func exampleKeyring() checkout.Keyring {
	secrets, err := checkout.ParseSecrets(fmt.Sprintf("%x", sha256.Sum256([]byte("example"))), ",")
	check(err)
	keyring, err := checkout.NewKeyring(secrets...)
	check(err)
	return keyring
}

// blankPages renders nothing: the example is not about agreements.
type blankPages struct{}

func (blankPages) Print(context.Context, agreement.Agreement) ([]byte, error) {
	return []byte("%PDF-"), nil
}

// noEvents sends nothing: the example's provider has no destination.
type noEvents struct{}

func (noEvents) Send(context.Context, catalogue.Destination, events.Delivery, int) error {
	return nil
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
