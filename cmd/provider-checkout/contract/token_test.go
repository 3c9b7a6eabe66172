package contract_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

const day = 24 * time.Hour

// again sends the create of ORDER-1 once more.
func (s *suite) again(t *testing.T) response {
	t.Helper()
	r := s.Post(t, "KOWHAI", createPath, order(catalogueCreate, "ORDER-1"))
	if r.Status != http.StatusOK || r.String("direct_debit.setup_url") != s.URL+"/api/dd-setup?token="+r.String("direct_debit.token") {
		t.Errorf("a replay answers %d %s", r.Status, r.Body)
	}
	return r
}

// page opens the setup page of an answer.
func (s *suite) page(t *testing.T, r response) response {
	t.Helper()
	return s.Send(t, http.MethodGet, r.String("direct_debit.setup_url"), "")
}

func TestContract22ATokenIsTheCheckoutItsEpochAKeyAndASignature(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Create(t, "ORDER-1")
		shape := "^" + regexp.QuoteMeta(created.String("checkout.checkout_id")) + `\.1\.[0-9a-f]+\.[A-Za-z0-9_-]{43}$`
		if token := created.String("direct_debit.token"); !regexp.MustCompile(shape).MatchString(token) {
			t.Errorf("token %q, want the shape %s", token, shape)
		}
	})
}

func TestContract4AReplayReturnsTheSamePairWhileADayOfItsSevenRemains(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		first := s.Create(t, "ORDER-1")
		s.Clock.Forward(6*day - time.Minute)
		if same := s.again(t); same.String("direct_debit.token") != first.String("direct_debit.token") {
			t.Errorf("a day and a minute before the end the token is %q, was %q", same.At("direct_debit.token"), first.At("direct_debit.token"))
		}
		s.Clock.Forward(2 * time.Minute)
		second := s.again(t)
		if !strings.HasPrefix(second.String("direct_debit.token"), second.String("checkout.checkout_id")+".2.") {
			t.Errorf("less than a day before the end the token is %q, want the second epoch", second.At("direct_debit.token"))
		}
		for _, path := range []string{"checkout.checkout_id", "records.contact_id", "records.opportunity_id", "direct_debit.dda_id"} {
			if first.At(path) != second.At(path) {
				t.Errorf("%s is %v, was %v", path, second.At(path), first.At(path))
			}
		}
		if third := s.again(t); third.Body != second.Body {
			t.Errorf("the next replay answers %s, want the pair of %s", third.Body, second.Body)
		}
		s.Clock.Forward(6*day - time.Minute)
		want := strings.Replace(second.Body, `"next_poll_after":2}`, `"next_poll_after":900}`, 1) // the payer has had the link for days
		if later := s.again(t); later.Body != want {
			t.Errorf("the second pair does not last as long as the first: %s", later.Body)
		}
		if n := len(s.Receiver.Deliveries()); n != 1 {
			t.Errorf("%d events, want that of the first create", n)
		}
	})
}

func TestContract4APairThatNeverHasADayLeftIsNewOnEachReplay(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		pairs := []response{s.Create(t, "ORDER-1")}
		for epoch := 2; epoch <= 5; epoch++ {
			next := s.again(t)
			if prefix := fmt.Sprintf("%s.%d.", next.String("checkout.checkout_id"), epoch); !strings.HasPrefix(next.String("direct_debit.token"), prefix) {
				t.Errorf("token %q, want %s…", next.At("direct_debit.token"), prefix)
			}
			pairs = append(pairs, next)
		}
		for i, pair := range pairs {
			if page := s.page(t, pair); page.Status != http.StatusOK {
				t.Errorf("the page of pair %d answers %d", i+1, page.Status)
			}
		}
	}, lifetime(2*time.Hour))
}
