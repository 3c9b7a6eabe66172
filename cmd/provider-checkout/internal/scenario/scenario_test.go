package scenario_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// The conversation of testdata/conversations/scenarios.txt has the scenarios themselves.

func TestAScenarioIsTheEndOfAnOrderID(t *testing.T) {
	for id, want := range map[string]scenario.Scenario{
		"ENROL-1+setup_fails": scenario.SetupFails, "A+B+pdf_fails": scenario.PDFFails, "ENROL-1": "", "ENROL-1+": "", "ENROL-1+other": "",
		"+setup_fails": "", "setup_fails": "", "ENROL-1+setup_fails ": "", "ENROL-1+SETUP_FAILS": "", "ENROL-1+setup_fails+x": "",
	} {
		if got := scenario.Of(id); got != want {
			t.Errorf("Of(%q) = %q, want %q", id, got, want)
		}
	}
}

// movesMoney is the fake processor, as production takes it.
type movesMoney struct{ ports.Processor }

func (movesMoney) Info() checkout.ProcessorInfo {
	return checkout.ProcessorInfo{Name: "test", Environment: catalogue.Production}
}

// toReceiver is a sender that sends the events for an address of production to a receiver.
type toReceiver struct {
	ports.Sender
	receiver string
}

const hooks = "https://hooks.example"

func (s toReceiver) Send(ctx context.Context, to catalogue.Destination, d events.Delivery, attempt int) error {
	to.URL = strings.Replace(to.URL, hooks, s.receiver, 1)
	return s.Sender.Send(ctx, to, d, attempt)
}

// In production an order id is an order id: nothing of the enrolment fails, is late or comes twice.
func TestProductionHasNoScenario(t *testing.T) {
	var sender toReceiver
	s := sandbox.New(t, sandbox.Memory, func(c *service.Config, _ *httpapi.Options) {
		sender.Sender = c.Sender
		c.Environment, c.BaseURL, c.Processor, c.Sender = catalogue.Production, "https://pay.example", movesMoney{c.Processor}, &sender
	})
	sender.receiver = s.Receiver.URL
	s.Configure(t, strings.NewReplacer(`"environment": "sandbox"`, `"environment": "production"`, "HOOKS", hooks).Replace(sandbox.Providers))
	s.Keys["KOWHAI"] = sandbox.IssueKey(t, s.Store, "KOWHAI", catalogue.Production)
	for _, of := range scenario.All() {
		t.Run(string(of), func(t *testing.T) {
			s.Receiver.Forget()
			created := s.Create(t, "ENROL-1+"+string(of))
			s.Clock.Forward(time.Minute)
			s.Submit(t, s.ToBank(t, created), []string{"account_holder_name", apiclient.AccountHolder, "account_number", apiclient.AccountNumber,
				"authority_confirmed", "yes"})
			s.Clock.Forward(5 * time.Minute)
			if polled := s.Get(t, "KOWHAI", created.CheckoutPath()); polled.At("direct_debit.setup_complete") != true {
				t.Errorf("a poll answers %d %s", polled.Status, polled.Body)
			}
			confirmed := s.Confirm(t, created)
			if confirmed.Status != http.StatusOK || confirmed.At("already_confirmed") != false || confirmed.At("agreement.pdf_generated") != true {
				t.Errorf("the confirm answers %d %s", confirmed.Status, confirmed.Body)
			}
			var names []string
			for _, d := range s.Receiver.Deliveries() {
				names = append(names, d.JSON.Text("event"))
				err := events.Verify("whsec_kowhai_0123456789abcdef", d.Header.Get(events.HeaderSignature), d.Body, s.Clock.Now(), time.Hour)
				if err != nil || d.Header.Get(events.HeaderAttempt) != "1" {
					t.Errorf("%s came under %v, want a right signature at the first attempt", d.Body, d.Header)
				}
			}
			if want := []string{"checkout.created", "checkout.confirmed", "agreement.generated"}; !slices.Equal(names, want) {
				t.Errorf("the receiver got %q, want %q", names, want)
			}
		})
	}
}
