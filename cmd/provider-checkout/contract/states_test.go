package contract_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Section 3: every call in every state.

func otherIntent(id string) string {
	return strings.ReplaceAll(order(catalogueCreate, id), "2027-02-01", "2027-03-01")
}

// stateCalls are the columns of the table: each makes a call and returns its answer in a few words.
var stateCalls = []struct {
	name string
	call func(t *testing.T, s *suite, id string, created response) string
}{
	{"create", func(t *testing.T, s *suite, id string, _ response) string {
		r := s.Post(t, "KOWHAI", "/v1/provider-checkouts", order(catalogueCreate, id))
		return brief(r, "idempotent_replay", "checkout.status")
	}},
	{"create with another intent", func(t *testing.T, s *suite, id string, _ response) string {
		return brief(s.Post(t, "KOWHAI", "/v1/provider-checkouts", otherIntent(id)), "idempotent_replay", "checkout.status")
	}},
	{"get", func(t *testing.T, s *suite, _ string, created response) string {
		r := s.Get(t, "KOWHAI", created.CheckoutPath())
		return brief(r, "checkout.status", "direct_debit.setup_complete", "direct_debit.mandate_status")
	}},
	{"confirm", func(t *testing.T, s *suite, _ string, created response) string {
		return brief(s.Confirm(t, created), "checkout.status", "already_confirmed")
	}},
	{"confirm with another dda_id", func(t *testing.T, s *suite, _ string, created response) string {
		body := set(t, created.ConfirmBody(), "checkout.dda_id", `"another"`)
		return brief(s.confirmAs(t, created, body), "checkout.status", "already_confirmed")
	}},
	{"confirm with another token", func(t *testing.T, s *suite, _ string, created response) string {
		body := set(t, created.ConfirmBody(), "checkout.checkout_token", `"another"`)
		return brief(s.confirmAs(t, created, body), "checkout.status", "already_confirmed")
	}},
	{"open the page", func(t *testing.T, s *suite, _ string, created response) string {
		r := s.Send(t, http.MethodGet, "/api/dd-setup?token="+created.String("direct_debit.token"), "")
		p, err := apiclient.ParsePage(r.Body)
		if err != nil {
			t.Error(err)
		}
		return fmt.Sprint(r.Status, map[bool]string{true: " a form", false: " no form"}[p.Form != nil])
	}},
	{"begin the setup", func(t *testing.T, s *suite, _ string, created response) string {
		r := s.Press(t, created)
		to, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Location"), s.URL), "?")
		to, _, _ = strings.Cut(to, "/BR") // which begins the id of a billing request
		return strings.TrimSpace(fmt.Sprint(r.Status, " ", to))
	}},
	{"cancel", func(t *testing.T, s *suite, _ string, created response) string {
		return brief(s.cancel(t, created, "another reason"), "checkout.status")
	}},
}

// brief returns an answer in a few words: its status, and its code or these values.
func brief(r response, paths ...string) string {
	if code := r.String("error.code"); code != "" {
		return fmt.Sprint(r.Status, " ", code)
	}
	said := []string{fmt.Sprint(r.Status)}
	for _, path := range paths {
		if v := r.At(path); v != nil {
			said = append(said, strings.ReplaceAll(fmt.Sprint(v), "direct_debit_setup_required", "required"))
		}
	}
	return strings.Join(said, " ")
}

// stateRows are the rows of the table. reach brings an order to the state and returns the answer to its create;
// says has the answer to each call, with a star if the call changes the record.
var stateRows = []struct {
	name  string
	reach func(t *testing.T, s *suite, b *bank, id string) response
	says  string
}{
	{"no checkout", nowhere, `201 false required * | 201 false required * | 404 CHECKOUT_NOT_FOUND |
		404 CHECKOUT_NOT_FOUND | 404 CHECKOUT_NOT_FOUND | 404 CHECKOUT_NOT_FOUND | 404 no form | 404 | 404 CHECKOUT_NOT_FOUND`},
	{"created", func(t *testing.T, s *suite, b *bank, id string) response { return s.Create(t, id) },
		`200 true required | 409 IDEMPOTENCY_CONFLICT | 200 required false |
		409 DIRECT_DEBIT_SETUP_INCOMPLETE | 409 CONFLICT | 409 CONFLICT | 200 a form | 303 /sandbox/processor/billing-requests * | 200 cancelled *`},
	{"setup begun", func(t *testing.T, s *suite, b *bank, id string) response {
		created := s.Create(t, id)
		s.Press(t, created)
		return created
	}, `200 true required | 409 IDEMPOTENCY_CONFLICT | 200 required false |
		409 DIRECT_DEBIT_SETUP_INCOMPLETE | 409 CONFLICT | 409 CONFLICT | 200 a form | 303 /sandbox/processor/billing-requests | 200 cancelled *`},
	{"billing request cancelled", func(t *testing.T, s *suite, b *bank, id string) response {
		created := s.Create(t, id)
		s.Press(t, created)
		b.say(func(context.Context) (checkout.Observation, error) {
			return checkout.Observation{BillingRequest: checkout.BillingCancelled, Authorisation: checkout.CustomerInProgress}, nil
		})
		s.Get(t, "KOWHAI", created.CheckoutPath())
		return created
	}, `200 true required | 409 IDEMPOTENCY_CONFLICT | 200 required false |
		409 DIRECT_DEBIT_SETUP_INCOMPLETE | 409 CONFLICT | 409 CONFLICT | 200 a form | 303 /sandbox/processor/billing-requests * | 200 cancelled *`},
	{"page expired", func(t *testing.T, s *suite, b *bank, id string) response {
		created := s.Create(t, id)
		s.Clock.Forward(setupLifetime)
		return created
	}, `200 true required * | 409 IDEMPOTENCY_CONFLICT | 200 required false |
		409 DIRECT_DEBIT_SETUP_INCOMPLETE | 409 CONFLICT | 409 CONFLICT | 410 no form | 410 | 200 cancelled *`},
	{"mandate pending_submission", mandate(checkout.MandatePendingSubmission), living("pending_submission")},
	{"mandate submitted", mandate(checkout.MandateSubmitted), living("submitted")},
	{"mandate active", mandate(checkout.MandateActive), living("active")},
	{"page expired after the setup", func(t *testing.T, s *suite, b *bank, id string) response {
		created := s.Ready(t, id)
		s.Clock.Forward(setupLifetime)
		s.Get(t, "KOWHAI", created.CheckoutPath())
		return created
	}, strings.Replace(living("aWeekLater"), "200 true required", "200 true required *", 1)},
	{"mandate in an unknown status", mandate("on_hold"),
		`200 true required | 409 IDEMPOTENCY_CONFLICT | 200 required true on_hold |
		409 DIRECT_DEBIT_SETUP_INCOMPLETE | 409 CONFLICT | 409 CONFLICT | 200 no form | 303 /api/dd-setup | 200 cancelled *`},
	{"mandate failed", mandate(checkout.MandateFailed), dead("failed")},
	{"mandate cancelled", mandate(checkout.MandateCancelled), dead("cancelled")},
	{"mandate expired", mandate(checkout.MandateExpired), dead("expired")},
	{"mandate blocked", mandate(checkout.MandateBlocked), dead("blocked")},
	{"confirmed", func(t *testing.T, s *suite, b *bank, id string) response {
		created := s.Ready(t, id)
		s.Confirm(t, created)
		return created
	}, over("pending_submission")},
	{"confirmed, then the mandate cancelled", func(t *testing.T, s *suite, b *bank, id string) response {
		created := s.Ready(t, id)
		s.Confirm(t, created)
		b.sayMandate(checkout.MandateCancelled)
		s.Clock.Forward(2 * time.Second)
		s.Get(t, "KOWHAI", created.CheckoutPath())
		return created
	}, over("cancelled")},
	{"cancelled", func(t *testing.T, s *suite, b *bank, id string) response {
		created := s.Create(t, id)
		s.cancel(t, created, "wrong course")
		return created
	}, `409 CHECKOUT_CANCELLED | 409 CHECKOUT_CANCELLED | 200 cancelled false | 409 CHECKOUT_CANCELLED | 409 CONFLICT |
		409 CHECKOUT_CANCELLED | 410 no form | 410 | 200 cancelled`},
}

// nowhere returns the answer to a create as if it had been made, for a checkout that does not exist.
func nowhere(t *testing.T, _ *suite, _ *bank, id string) response {
	body, err := apiclient.ParseObject([]byte(`{"provider": {"provider_code": "KOWHAI", "provider_order_id": "` + id + `"},
		"checkout": {"checkout_id": "KOWHAI-1-aaaaaaaaaaaaaaaa"}, "records": {"opportunity_id": "o"},
		"direct_debit": {"dda_id": "d", "token": "KOWHAI-1-aaaaaaaaaaaaaaaa.1.00000000.x"},
		"plan": {"first_payment_date": "2027-02-01"}}`))
	if err != nil {
		t.Fatal(err)
	}
	return response{JSON: body}
}

// mandate brings an order to a completed setup whose mandate has this status at the processor.
func mandate(status checkout.MandateStatus) func(*testing.T, *suite, *bank, string) response {
	return func(t *testing.T, s *suite, b *bank, id string) response {
		created := s.Ready(t, id)
		b.sayMandate(status)
		s.Clock.Forward(2 * time.Second) // until the processor is asked again
		s.Get(t, "KOWHAI", created.CheckoutPath())
		return created
	}
}

func living(mandate string) string {
	return `200 true required | 409 IDEMPOTENCY_CONFLICT | 200 required true ` + mandate + ` |
		200 confirmed false * | 409 CONFLICT | 409 CONFLICT | 200 no form | 303 /api/dd-setup | 200 cancelled *`
}

func dead(mandate string) string {
	return `200 true required | 409 IDEMPOTENCY_CONFLICT | 200 required false ` + mandate + ` |
		409 DIRECT_DEBIT_SETUP_INCOMPLETE | 409 CONFLICT | 409 CONFLICT | 200 a form | 303 /sandbox/processor/billing-requests * | 200 cancelled *`
}

func over(mandate string) string {
	return `200 true confirmed | 409 IDEMPOTENCY_CONFLICT | 200 confirmed true ` + mandate + ` |
		200 confirmed true | 409 CONFLICT | 200 confirmed true | 200 no form | 303 /api/dd-setup | 409 CONFLICT`
}

// lasting returns what is on record of an order but for the attempts of the service's own jobs, which it makes meanwhile.
func (s *suite) lasting(t *testing.T, order string) checkout.CheckoutRecord {
	t.Helper()
	r := s.record(t, order)
	for i, j := range r.Jobs {
		if j.Job.Kind != checkout.JobDeliver {
			r.Jobs[i] = checkout.JobRecord{Job: j.Job}
		}
	}
	return r
}

func TestContract3EveryCallInEveryState(t *testing.T) {
	for _, row := range stateRows {
		t.Run(row.name, func(t *testing.T) {
			contractWith(t, withBank, func(t *testing.T, s *suite, b *bank) {
				says := strings.Split(row.says, "|")
				if len(says) != len(stateCalls) {
					t.Fatalf("the row has %d cells, the table %d columns", len(says), len(stateCalls))
				}
				for i, column := range stateCalls {
					b.say(nil)
					id := fmt.Sprint("ORDER-", i)
					created := row.reach(t, s, b, id)
					before := s.lasting(t, id)
					got := column.call(t, s, id, created)
					if !reflect.DeepEqual(s.lasting(t, id), before) {
						got += " *"
					}
					want := strings.TrimSpace(says[i])
					if !outside.GoCardless {
						want = strings.Replace(want, "aWeekLater", "active", 1)
					} else {
						want = strings.Replace(want, "aWeekLater", "pending_submission", 1) // with the first payment it is submitted
						want = strings.Replace(want, "/sandbox/processor/billing-requests", "BANK/flow", 1)
						got = regexp.MustCompile(`http://[^/]*/flow`).ReplaceAllString(got, "BANK/flow")
					}
					if got != want {
						t.Errorf("%s: %s; want %s", column.name, got, want)
					}
				}
			})
		})
	}
}

// Section 3, the mandate: it changes at the processor, which may be down.

// bank is the fake processor, whose answer about every setup the test can change.
type bank struct {
	ports.Processor
	mu      sync.Mutex
	says    func(context.Context) (checkout.Observation, error)
	mandate checkout.MandateStatus
	since   time.Time
	now     func() time.Time
}

func withBank(c *service.Config, _ *httpapi.Options) *bank {
	b := &bank{Processor: c.Processor, now: c.Now}
	c.Processor = b
	return b
}

// Info implements ports.Processor: what this bank is made to say comes without a notification, so polls ask it.
func (b *bank) Info() checkout.ProcessorInfo {
	info := b.Processor.Info()
	info.Notifies = false
	return info
}

func (b *bank) Observe(ctx context.Context, q checkout.SetupQuery) (checkout.Observation, error) {
	b.mu.Lock()
	says, mandate, since := b.says, b.mandate, b.since
	b.mu.Unlock()
	if says != nil {
		return says(ctx)
	}
	seen, err := b.Processor.Observe(ctx, q)
	if mandate != "" {
		seen.BillingRequest, seen.Mandate = checkout.BillingFulfilled, mandate
		seen.MandateSince = since
	}
	return seen, err
}

// say makes the bank answer with says, or as the fake processor if says is nil.
func (b *bank) say(says func(context.Context) (checkout.Observation, error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.says, b.mandate = says, ""
}

// sayMandate makes the bank report that the payer is done, and this status of the mandate from now on.
func (b *bank) sayMandate(status checkout.MandateStatus) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.says, b.mandate, b.since = nil, status, b.now().UTC().Truncate(time.Millisecond)
}

// down makes the bank fail.
func (b *bank) down() {
	b.say(func(context.Context) (checkout.Observation, error) {
		return checkout.Observation{}, errors.New("connection refused")
	})
}

func TestContract3WhileTheProcessorIsDownAPollAnswersFromTheRecord(t *testing.T) {
	for name, fail := range map[string]func(*bank){
		"it fails": (*bank).down,
		"it hangs": func(b *bank) {
			b.say(func(ctx context.Context) (checkout.Observation, error) {
				<-ctx.Done()
				return checkout.Observation{}, ctx.Err()
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "it hangs" { // for as long as the service waits
				testlevel.Full(t)
			}
			contractWith(t, withBank, func(t *testing.T, s *suite, b *bank) {
				created := s.Ready(t, "ORDER-1")
				fail(b)
				polled := s.Get(t, "KOWHAI", created.CheckoutPath())
				if polled.Status != http.StatusOK || polled.At("direct_debit.setup_complete") != true {
					t.Errorf("a poll answers %d %s", polled.Status, polled.Body)
				}
				got := s.Confirm(t, created) // the status of the mandate is not known
				refused(t, got, http.StatusServiceUnavailable, "INTERNAL_ERROR")
				if got.Header.Get("Retry-After") == "" {
					t.Error("the 503 has no Retry-After")
				}
				b.say(nil)
				if got := s.Confirm(t, created); got.At("already_confirmed") != false {
					t.Errorf("when it is back confirm answers %d %s", got.Status, got.Body)
				}
				fail(b)
				if got := s.Confirm(t, created); got.At("already_confirmed") != true {
					t.Errorf("a repeat answers %d %s", got.Status, got.Body)
				}
			})
		})
	}
}
