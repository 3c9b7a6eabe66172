package contract_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
)

const crowd = 64

// atOnce sends n requests at the same moment and returns their answers.
func atOnce(n int, send func(i int) response) []response {
	all := make([]response, n)
	var sent sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		sent.Go(func() {
			<-start
			all[i] = send(i)
		})
	}
	close(start)
	sent.Wait()
	return all
}

// beside runs a second service over the same store, as another process does.
func (s *suite) beside(t *testing.T) *suite {
	t.Helper()
	svc := s.Service(t)
	server := httptest.NewServer(s.Handler(svc))
	t.Cleanup(server.Close)
	other := *s.Sandbox
	other.URL = server.URL
	return &suite{&other}
}

// gate is a source of randomness that blocks its readers until a whole crowd reads, or a second has passed. A create
// generates its checkout id after it has found its order free, so the whole crowd tries to store the order at once.
type gate struct {
	mu      sync.Mutex
	waiting int
	full    chan struct{}
}

func gated(c *service.Config, _ *httpapi.Options) { c.Rand = &gate{full: make(chan struct{})} }

func (g *gate) Read(p []byte) (int, error) {
	g.mu.Lock()
	if g.waiting++; g.waiting == crowd {
		close(g.full)
	}
	g.mu.Unlock()
	select {
	case <-g.full:
	case <-time.After(time.Second):
	}
	return rand.Read(p)
}

// oneWith returns the one answer with the status, and the others.
func oneWith(t *testing.T, all []response, status int) (one response, others []response) {
	t.Helper()
	found := 0
	for _, r := range all {
		if r.Status == status {
			one = r
			found++
		} else {
			others = append(others, r)
		}
	}
	if found != 1 {
		t.Fatalf("%d of %d answers are %d, want one; the others: %+v", found, len(all), status, others)
	}
	return one, others
}

// delivered returns the names of the events that arrived, in order, and checks that all on record were delivered.
func (s *suite) delivered(t *testing.T) string {
	t.Helper()
	var names []string
	for _, h := range s.Receiver.Deliveries() {
		names = append(names, h.JSON.Text("event"))
	}
	for _, d := range s.Records(t) {
		for _, e := range d.Events() {
			if e.EventStatus() != events.Delivered || e.Attempts != 1 {
				t.Errorf("%s of %s is on record as %s after %d attempts", e.Event().Name, d.Checkout.OrderID, e.EventStatus(), e.Attempts)
			}
		}
	}
	return strings.Join(names, " ")
}

// lone returns the only checkout on record.
func (s *suite) lone(t *testing.T) checkout.CheckoutRecord {
	t.Helper()
	all := s.Records(t)
	if len(all) != 1 {
		t.Fatalf("%d checkouts on record, want 1", len(all))
	}
	return all[0]
}

func TestContract4OfManyCreatesOfOneOrderOneOpensAndTheOthersAreReplays(t *testing.T) {
	for _, tt := range []struct {
		name string
		key  func(i int) []string
	}{
		{"without a key", func(int) []string { return nil }},
		{"under one key", func(int) []string { return []string{"Idempotency-Key", "key"} }},
		{"each under a key of its own", func(i int) []string { return []string{"Idempotency-Key", fmt.Sprint("key-", i)} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			contract(t, func(t *testing.T, s *suite) {
				processes := [2]*suite{s, s.beside(t)}
				all := atOnce(crowd, func(i int) response {
					return processes[i%2].Post(t, "KOWHAI", createPath, order(catalogueCreate, "ORDER-1"), tt.key(i)...)
				})
				first, others := oneWith(t, all, http.StatusCreated)
				for i, r := range all {
					if r.Status == http.StatusCreated {
						continue
					}
					key := "KOWHAI:ORDER-1"
					if header := tt.key(i); header != nil {
						key = header[1]
					}
					if want := replayed(first, key); r.Status != http.StatusOK || r.Body != want {
						t.Errorf("a replay answers %d %s, want %s", r.Status, r.Body, want)
					}
				}
				if stored := s.lone(t); len(others) != crowd-1 || stored.Checkout.ID != first.String("checkout.checkout_id") {
					t.Errorf("%d replays of %s, on record %s", len(others), first.At("checkout.checkout_id"), stored.Checkout.ID)
				}
				if got := s.delivered(t); got != "checkout.created" {
					t.Errorf("events %q", got)
				}
			}, gated)
		})
	}
}

func TestContract4OfManyIntentsOneOpensAndTheOthersConflict(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		processes := [2]*suite{s, s.beside(t)}
		first, others := oneWith(t, atOnce(crowd, func(i int) response {
			date := money.Date{Year: 2027, Month: 2, Day: 1}.After(money.Weekly, i)
			return processes[i%2].Post(t, "KOWHAI", createPath, set(t, order(catalogueCreate, "ORDER-1"), "plan.first_payment_date", `"`+date.String()+`"`))
		}), http.StatusCreated)
		for _, r := range others {
			refused(t, r, http.StatusConflict, "IDEMPOTENCY_CONFLICT", "plan.first_payment_date")
		}
		if stored := s.lone(t).Checkout.Intent.Plan.First.String(); stored != first.String("plan.first_payment_date") {
			t.Errorf("on record %s, answered %s", stored, first.Body)
		}
		if got := s.delivered(t); got != "checkout.created" {
			t.Errorf("events %q", got)
		}
	}, gated)
}

func TestContract4OfManyOrdersUnderOneKeyOneOpensAndTheOthersConflict(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		processes := [2]*suite{s, s.beside(t)}
		first, others := oneWith(t, atOnce(crowd, func(i int) response {
			return processes[i%2].Post(t, "KOWHAI", createPath, order(catalogueCreate, fmt.Sprint("ORDER-", i)), "Idempotency-Key", "key")
		}), http.StatusCreated)
		for _, r := range others {
			refused(t, r, http.StatusConflict, "IDEMPOTENCY_CONFLICT", "Idempotency-Key", "provider.provider_order_id")
		}
		if stored := s.lone(t).Checkout.OrderID; stored != first.String("provider.provider_order_id") {
			t.Errorf("on record %s, answered %s", stored, first.Body)
		}
	}, gated)
}

func TestContract4ManyReplaysNearTheEndOfAPairMakeOneNewPair(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		s.Create(t, "ORDER-1")
		s.Clock.Forward(7 * day)
		all := atOnce(crowd, func(int) response { return s.Replay(t, "ORDER-1") })
		for _, r := range all {
			if r.Body != all[0].Body || !strings.Contains(r.String("direct_debit.token"), ".2.") {
				t.Fatalf("replays answer %s and %s, want one second pair", all[0].Body, r.Body)
			}
		}
	})
}

func TestContract3OfManyConfirmsOneConcludesAndTheOthersRepeatIt(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Create(t, "ORDER-1")
		s.SetUp(t, created)
		processes := [2]*suite{s, s.beside(t)}
		all := atOnce(crowd, func(i int) response { return processes[i%2].Confirm(t, created) })
		first, repeats := 0, 0
		want := strings.NewReplacer(`"already_confirmed":true`, "", `"already_confirmed":false`, "")
		for _, r := range all {
			switch {
			case r.Status != http.StatusOK || want.Replace(r.Body) != want.Replace(all[0].Body):
				t.Errorf("answers %d %s, and %s", r.Status, r.Body, all[0].Body)
			case r.At("already_confirmed") == false:
				first++
			default:
				repeats++
			}
		}
		stored := s.lone(t)
		if first != 1 || repeats != crowd-1 || stored.Agreement == nil || stored.Document == 0 ||
			stored.Agreement.Number != all[0].String("agreement.number") || stored.Checkout.AgreementID(catalogue.Sandbox, stored.Agreement.Number) != all[0].String("agreement.id") {
			t.Errorf("%d first and %d repeats of %s; on record %+v and %+v", first, repeats, all[0].Body, stored.Agreement, stored.Document)
		}
		before := s.Records(t)
		if got := s.Confirm(t, created); got.At("already_confirmed") != true {
			t.Errorf("a repeat answers %s", got.Body)
		}
		unchanged(t, s, before)
		if got := s.delivered(t); got != "checkout.created checkout.confirmed agreement.generated" {
			t.Errorf("events %q", got)
		}
	})
}

// hurry sends the forms of the pages until a page has no form.
func (s *suite) hurry(t *testing.T, created response) {
	t.Helper()
	payer := s.Payer()
	p, err := payer.Open(t.Context(), http.MethodGet, created.String("direct_debit.setup_url"), nil)
	for tries := 0; err == nil && p.Form != nil && tries < 8; tries++ {
		p, err = payer.Open(t.Context(), http.MethodPost, p.Action, apiclient.FillIn(p.Form))
	}
	if err != nil || p.Form != nil {
		t.Errorf("a payer in a hurry ends on %q, %v", p.Heading, err)
	}
}

func TestContract3PayersReplaysPollsAndConfirmsAtOnceConfirmOnce(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Create(t, "ORDER-1")
		processes := [2]*suite{s, s.beside(t)}
		all := atOnce(96, func(i int) response {
			switch i % 6 {
			case 0:
				s.hurry(t, created)
				return processes[i/6%2].Confirm(t, created)
			case 1:
				return processes[i/6%2].Confirm(t, created)
			case 2:
				return processes[i/6%2].Post(t, "KOWHAI", createPath, order(catalogueCreate, "ORDER-1"))
			case 3:
				return s.page(t, created)
			case 4:
				return processes[i/6%2].Get(t, "KOWHAI", created.CheckoutPath())
			default:
				return processes[i/6%2].Post(t, "KOWHAI", createPath, set(t, order(catalogueCreate, "ORDER-1"), "plan.first_payment_date", `"2030-01-01"`))
			}
		})
		first, number := 0, s.Confirm(t, created).String("agreement.number")
		for i, r := range all {
			confirmed := r.Status == http.StatusOK && r.String("agreement.number") == number && r.At("agreement.pdf_generated") == true
			switch i % 6 {
			case 1:
				if !confirmed {
					refused(t, r, http.StatusConflict, "DIRECT_DEBIT_SETUP_INCOMPLETE")
				}
			case 0:
				if !confirmed {
					t.Errorf("after the setup a confirm answers %d %s", r.Status, r.Body)
				}
			case 5:
				refused(t, r, http.StatusConflict, "IDEMPOTENCY_CONFLICT", "plan.first_payment_date")
			default:
				if r.Status != http.StatusOK {
					t.Errorf("request %d answers %d %s", i, r.Status, r.Body)
				}
			}
			if r.At("already_confirmed") == false {
				first++
			}
		}
		if stored := s.lone(t); first != 1 || stored.Agreement == nil || stored.Document == 0 {
			t.Errorf("%d first confirms; on record %+v", first, stored)
		}
		if got := s.delivered(t); got != "checkout.created checkout.confirmed agreement.generated" {
			t.Errorf("events %q", got)
		}
	})
}
