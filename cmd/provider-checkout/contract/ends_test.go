package contract_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Beyond the contract: a checkout is cancelled before its confirm, and the agreement of a confirmed one withdrawn.

// cancel sends a cancel with a reason, with the key of the checkout's provider.
func (s *suite) cancel(t *testing.T, created response, reason string) response {
	t.Helper()
	body, err := json.Marshal(map[string]string{"reason": reason})
	if err != nil {
		t.Fatal(err)
	}
	return s.Post(t, created.Provider(), created.CheckoutPath()+"/cancel", string(body))
}

// operator returns an operator with a reason.
func (s *suite) operator(reason string) operate.Operator {
	return operate.Operator{Store: s.Store, Keyring: s.Config.Keyring, By: "Ana", Reason: reason, Now: s.Clock.Now, Rand: rand.Reader}
}

// withdraw withdraws the agreement of an order.
func (s *suite) withdraw(t *testing.T, id string) {
	t.Helper()
	number := s.record(t, id).Checkout.Confirmation.AgreementNumber
	if err := s.operator("She wrote to us.").Withdraw(t.Context(), number, checkout.GroundCoolingOff); err != nil {
		t.Fatal(err)
	}
}

// works runs a service's background work until checkouts are ended and events sent.
func (s *suite) works(t *testing.T) {
	t.Helper()
	svc := s.Service(t)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	var run sync.WaitGroup
	run.Go(func() { svc.Run(ctx) })
	defer run.Wait()
	defer stop()
	for ctx.Err() == nil {
		waiting, err := s.Store.Jobs(ctx, checkout.JobFilter{State: checkout.JobPending,
			Kinds: []checkout.JobKind{checkout.JobEnd, checkout.JobDeliver, checkout.JobSync}}, 1)
		if err == nil && len(waiting) == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("the background work is not done")
}

func TestACancelledCheckoutIsOverForProviderPayerAndProcessor(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Ready(t, "ORDER-1")
		first := s.cancel(t, created, "She chose another course.")
		want := fmt.Sprintf(`{"success":true,"checkout":{"checkout_id":%q,"status":"cancelled"}}`, created.String("checkout.checkout_id"))
		if first.Status != http.StatusOK || strings.TrimSpace(first.Body) != want {
			t.Errorf("a cancel answers %d %s, want %s", first.Status, first.Body, want)
		}
		s.works(t)
		s.Clock.Forward(time.Hour)
		if again := s.cancel(t, created, "Another reason."); again.Status != http.StatusOK || again.Body != first.Body {
			t.Errorf("a repeat answers %d %s, want %s", again.Status, again.Body, first.Body)
		}
		polled := s.Get(t, "KOWHAI", created.CheckoutPath())
		if got := brief(polled, "checkout.status", "direct_debit.mandate_status"); got != "200 cancelled cancelled" {
			t.Errorf("a poll answers %s", got)
		}
		refused(t, s.Confirm(t, created), http.StatusConflict, "CHECKOUT_CANCELLED")
		refused(t, s.Post(t, "KOWHAI", createPath, order(catalogueCreate, "ORDER-1")), http.StatusConflict, "CHECKOUT_CANCELLED")
		refused(t, s.Post(t, "KOWHAI", createPath, otherIntent("ORDER-1")), http.StatusConflict, "CHECKOUT_CANCELLED")
		page := s.page(t, created)
		if page.Status != http.StatusGone || !strings.Contains(page.Body, "Kōwhai Institute</bdi> cancelled it on") ||
			!strings.Contains(page.Body, "help@kowhai.example") || strings.Contains(page.Body, "another course") {
			t.Errorf("the payer's link answers %d %s", page.Status, page.Body)
		}
		r := s.record(t, "ORDER-1")
		if end := r.Checkout.End; end.Reason != "She chose another course." || end.By != checkout.PartyProvider {
			t.Errorf("on record is %+v", end)
		}
		if n := strings.Count(fmt.Sprint(kindsOf(r.Moments)), string(checkout.MomentCancelled)); n != 1 {
			t.Errorf("the journal has %d cancels: %+v", n, r.Moments)
		}
	})
}

func kindsOf(moments []checkout.Moment) (list []checkout.MomentKind) {
	for _, m := range moments {
		list = append(list, m.Kind)
	}
	return list
}

// The contract has no event for an end.
func TestContract6AnEndEmitsNothing(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		s.cancel(t, s.Create(t, "ORDER-1"), "wrong course")
		s.enrolled(t, "ORDER-2")
		s.withdraw(t, "ORDER-2")
		s.works(t)
		sameList(t, "on record", append(s.outcomes(t, "ORDER-1"), s.outcomes(t, "ORDER-2")...), "checkout.created delivered 1",
			"checkout.created delivered 1", "checkout.confirmed delivered 1", "agreement.generated delivered 1")
	})
}

func TestOnlyItsOwnProviderCancelsACheckoutBeforeItsConfirm(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Ready(t, "ORDER-1")
		path := created.CheckoutPath() + "/cancel"
		before := s.record(t, "ORDER-1")
		refused(t, s.Post(t, "TUI", path, `{"reason": "x"}`), http.StatusNotFound, "CHECKOUT_NOT_FOUND")
		refused(t, s.Post(t, "KOWHAI", createPath+"/KOWHAI-1-aaaaaaaaaaaaaaaa/cancel", `{"reason": "x"}`), http.StatusNotFound, "CHECKOUT_NOT_FOUND")
		for _, body := range []string{`{}`, `{"reason": null}`, `{"reason": ""}`, `{"reason": " "}`, `{"reason": 1}`, `{"reason": "a\nb"}`,
			`{"reason": "` + strings.Repeat("ā", 256) + `"}`, `{"Reason": "x"}`, `{"raeson": "x"}`} {
			r := s.Post(t, "KOWHAI", path, body)
			if got := faults(r); r.Status != http.StatusBadRequest || len(got) != 1 || !strings.EqualFold(got[0].field, "reason") {
				t.Errorf("%s: %d %s, want a fault of the reason", body, r.Status, r.Body)
			}
		}
		refused(t, s.Send(t, http.MethodPost, path, `{"reason": "x"}`, "Content-Type", "application/json"), http.StatusUnauthorized, "MISSING_API_KEY")
		if after := s.record(t, "ORDER-1"); after.Checkout.Status != before.Checkout.Status || after.Checkout.Setup != before.Checkout.Setup {
			t.Errorf("refused calls changed %+v to %+v", before.Checkout, after.Checkout)
		}
		if r := s.Confirm(t, created); r.Status != http.StatusOK {
			t.Fatalf("confirm: %d %s", r.Status, r.Body)
		}
		refused(t, s.cancel(t, created, "x"), http.StatusConflict, "CONFLICT")
		s.Configure(t, strings.Replace(sandbox.Providers, `"active": true`, `"active": false`, 1))
		refused(t, s.cancel(t, created, "x"), http.StatusForbidden, "PROVIDER_NOT_ENABLED")
		s.Configure(t, sandbox.Providers)
		if r := s.cancel(t, s.Create(t, "ORDER-2"), strings.Repeat("ā", 255)); r.Status != http.StatusOK {
			t.Errorf("a reason of 255 characters: %d %s", r.Status, r.Body)
		}
	})
}

// A payer who has the processor's page open while the checkout is cancelled completes nothing that lasts.
func TestASetupThatIsCompletedAfterTheCancelIsCancelledToo(t *testing.T) {
	withTheFake(t)
	contract(t, func(t *testing.T, s *suite) {
		for _, quick := range []bool{true, false} {
			id := fmt.Sprint("ORDER-", quick)
			created := s.Create(t, id)
			bank := s.ToBank(t, created)
			s.cancel(t, created, "wrong course")
			if !quick { // the processor has cancelled the billing request before the payer sends the form
				s.works(t)
			}
			s.Submit(t, strings.TrimPrefix(bank, s.URL), []string{"account_holder", "A NGATA", "account_number", "01-0902-0068389-00"})
			s.works(t)
			s.Clock.Forward(3 * time.Minute)
			s.Get(t, "KOWHAI", created.CheckoutPath())
			c := s.record(t, id).Checkout
			if lives := c.Setup.BillingRequest != checkout.BillingCancelled && !c.Setup.Mandate.Dead(); lives {
				t.Errorf("%s: after the cancel the setup is %+v", id, c.Setup)
			}
			if page := s.page(t, created); page.Status != http.StatusGone || !strings.Contains(page.Body, "was cancelled") {
				t.Errorf("%s: the payer comes back to %d %s", id, page.Status, page.Body)
			}
		}
	})
}

func TestAWithdrawnAgreementStaysAndSaysSo(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created, confirmed := s.enrolled(t, "ORDER-1")
		number := confirmed.String("agreement.number")
		s.withdraw(t, "ORDER-1")
		s.works(t)
		s.Clock.Forward(2 * time.Second)
		at := s.record(t, "ORDER-1").Checkout.End.At.Format("2006-01-02T15:04:05.000Z")
		polled := s.Get(t, "KOWHAI", created.CheckoutPath())
		if got := brief(polled, "checkout.status", "direct_debit.mandate_status", "agreement.withdrawn_at"); got != "200 confirmed cancelled "+at {
			t.Errorf("a poll answers %s, want the withdrawal at %s", got, at)
		}
		again := s.Confirm(t, created)
		if got := brief(again, "checkout.status", "already_confirmed", "agreement.number", "agreement.withdrawn_at"); got != "200 confirmed true "+number+" "+at {
			t.Errorf("a repeated confirm answers %s", got)
		}
		if r := s.Replay(t, "ORDER-1"); r.String("checkout.status") != "confirmed" {
			t.Errorf("a replay answers %s", r.Body)
		}
		refused(t, s.cancel(t, created, "x"), http.StatusConflict, "CONFLICT")
		page := s.page(t, created)
		if page.Status != http.StatusOK || !strings.Contains(page.Body, "Your agreement was withdrawn") || !strings.Contains(page.Body, number) ||
			!strings.Contains(page.Body, "no more payments are taken") || strings.Contains(page.Body, "Next payment") {
			t.Errorf("the payer's page answers %d %s", page.Status, page.Body)
		}
		if pdf := s.document(t, number); !strings.Contains(pdf, number) {
			t.Errorf("the PDF is %.40q", pdf)
		}
	})
}

// Of cancels and confirms at once one side wins, and every call of the other is told: 60 rounds at the full level. A call that is busy,
// as on a machine with few processors, is made again.
func TestOfCancelsBesideConfirmsOneWinsAndTheOthersAreTold(t *testing.T) {
	rounds := testlevel.Of(3, often(60))
	contract(t, func(t *testing.T, s *suite) {
		processes := [2]*suite{s, s.beside(t)}
		won := map[string]int{}
		for n := range rounds {
			id := fmt.Sprint("ORDER-", n)
			created := s.Ready(t, id)
			all := atOnce(2*crowd, func(i int) response {
				p := processes[i/2%2]
				call := func() response { return p.Confirm(t, created) }
				if i%2 == 0 {
					call = func() response { return p.cancel(t, created, "wrong course") }
				}
				r := call()
				for began := time.Now(); r.Status == http.StatusServiceUnavailable && time.Since(began) < patience; {
					r = call()
				}
				return r
			})
			c := s.record(t, id).Checkout
			won[string(c.Status)]++
			want := map[checkout.Status][2]string{checkout.Cancelled: {"200 cancelled", "409 CHECKOUT_CANCELLED"},
				checkout.Confirmed: {"409 CONFLICT", "200 confirmed"}}[c.Status]
			for i, r := range all {
				if got := brief(r, "checkout.status"); got != want[i%2] {
					t.Errorf("%s: the checkout is %s, and an answer is %s, want %s", id, c.Status, got, want[i%2])
				}
			}
			if (c.Status == checkout.Cancelled) == (c.Confirmation.AgreementNumber != "") {
				t.Errorf("%s is %s with the agreement %q", id, c.Status, c.Confirmation.AgreementNumber)
			}
		}
		t.Logf("won: %v", won)
	})
}

// A cancel is refused as every other call is, and changes nothing then.
func TestACancelIsRefusedAsEveryOtherCallIs(t *testing.T) {
	limited := func(c *service.Config, o *httpapi.Options) *faulty { o.RateLimit = 5; return withFaultyStore(c, o) }
	contractWith(t, limited, func(t *testing.T, s *suite, store *faulty) {
		created := s.Create(t, "ORDER-1")
		erased := s.Create(t, "ORDER-2")
		path, key := created.CheckoutPath()+"/cancel", "Bearer "+s.Keys["KOWHAI"]
		s.erase(t, erased)
		refused(t, s.Send(t, http.MethodPost, path, `{"reason": "x"}`, "Authorization", "Bearer unknown"), http.StatusForbidden, "INVALID_API_KEY")
		refused(t, s.cancel(t, erased, "x"), http.StatusGone, "CHECKOUT_ERASED")
		refused(t, s.Post(t, "KOWHAI", createPath+"/a%2Fb/cancel", `{"reason": "x"}`), http.StatusNotFound, "NOT_FOUND")
		refused(t, s.Post(t, "KOWHAI", path, `{"reason": "`+strings.Repeat("x", 64<<10)+`"}`), http.StatusRequestEntityTooLarge, "REQUEST_TOO_LARGE")
		refused(t, s.Send(t, http.MethodPost, path, "x", "Authorization", key, "Content-Type", "text/plain"),
			http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE")
		store.fail(func(string) error { return errors.New(inside) })
		refused(t, s.cancel(t, created, "x"), http.StatusInternalServerError, "INTERNAL_ERROR")
		store.fail(func(string) error { return ports.ErrBusy })
		refused(t, s.cancel(t, created, "x"), http.StatusServiceUnavailable, "INTERNAL_ERROR")
		store.fail(nil)
		s.Configure(t, `{"providers": []}`)
		refused(t, s.cancel(t, created, "x"), http.StatusNotFound, "PROVIDER_NOT_FOUND")
		for range 100 {
			if r := s.cancel(t, created, ""); r.Status == http.StatusTooManyRequests {
				refused(t, r, http.StatusTooManyRequests, "RATE_LIMITED")
				break
			}
		}
		if c := s.record(t, "ORDER-1").Checkout; c.Ended() {
			t.Errorf("after refused cancels the checkout is %+v", c)
		}
	})
}
