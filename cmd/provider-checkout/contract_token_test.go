package main

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/demo"
)

const day = 24 * time.Hour

// again sends the create of ORDER-1 once more.
func (s *sandbox) again(t *testing.T) response {
	t.Helper()
	r := s.post(t, "KOWHAI", createPath, order(catalogueCreate, "ORDER-1"))
	if r.status != http.StatusOK || r.string("direct_debit.setup_url") != s.url+"/api/dd-setup?token="+r.string("direct_debit.token") {
		t.Errorf("a replay answers %d %s", r.status, r.text)
	}
	return r
}

// page opens the setup page of an answer.
func (s *sandbox) page(t *testing.T, r response) response {
	t.Helper()
	return s.send(t, http.MethodGet, r.string("direct_debit.setup_url"), "")
}

func TestContract22ATokenIsTheCheckoutItsEpochAKeyAndASignature(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		created := s.create(t, "ORDER-1")
		shape := "^" + regexp.QuoteMeta(created.string("checkout.checkout_id")) + `\.1\.[0-9a-f]+\.[A-Za-z0-9_-]{43}$`
		if token := created.string("direct_debit.token"); !regexp.MustCompile(shape).MatchString(token) {
			t.Errorf("token %q, want the shape %s", token, shape)
		}
	})
}

func TestContract4AReplayReturnsTheSamePairWhileADayOfItsSevenRemains(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		first := s.create(t, "ORDER-1")
		s.clock.forward(6*day - time.Minute)
		if same := s.again(t); same.string("direct_debit.token") != first.string("direct_debit.token") {
			t.Errorf("a day and a minute before the end the token is %q, was %q", same.at("direct_debit.token"), first.at("direct_debit.token"))
		}
		s.clock.forward(2 * time.Minute)
		second := s.again(t)
		if !strings.HasPrefix(second.string("direct_debit.token"), second.string("checkout.checkout_id")+".2.") {
			t.Errorf("less than a day before the end the token is %q, want the second epoch", second.at("direct_debit.token"))
		}
		for _, path := range []string{"checkout.checkout_id", "records.contact_id", "records.opportunity_id", "direct_debit.dda_id"} {
			if first.at(path) != second.at(path) {
				t.Errorf("%s is %v, was %v", path, second.at(path), first.at(path))
			}
		}
		if third := s.again(t); third.text != second.text {
			t.Errorf("the next replay answers %s, want the pair of %s", third.text, second.text)
		}
		s.clock.forward(6*day - time.Minute)
		if later := s.again(t); later.text != second.text {
			t.Errorf("the second pair does not last as long as the first: %s", later.text)
		}
		if n := len(s.hooks.all()); n != 1 {
			t.Errorf("%d events, want that of the first create", n)
		}
	})
}

func TestContract4AnOlderPageStaysOpenUntilItsOwnEnd(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		first := s.create(t, "ORDER-1")
		s.clock.forward(6*day + time.Minute)
		second := s.again(t)
		for name, r := range map[string]response{"older": first, "latest": second} {
			if page := s.page(t, r); page.status != http.StatusOK || !strings.Contains(page.text, "<form") {
				t.Errorf("the %s page answers %d %s", name, page.status, page.text)
			}
		}
		s.clock.forward(day)
		if page := s.page(t, first); page.status != http.StatusGone {
			t.Errorf("after its end the older page answers %d", page.status)
		}
		if page := s.page(t, second); page.status != http.StatusOK {
			t.Errorf("the latest page answers %d", page.status)
		}
		s.clock.forward(7 * day)
		if page := s.page(t, second); page.status != http.StatusGone {
			t.Errorf("after its end the latest page answers %d", page.status)
		}
		third := s.again(t)
		if page := s.page(t, third); page.status != http.StatusOK {
			t.Errorf("a replay after the end of all pairs brings a page that answers %d", page.status)
		}
	})
}

func TestContract24TheTokenOfAConfirmIsTheLatestEvenIfItsPageHasExpired(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		first := s.create(t, "ORDER-1")
		s.setUp(t, first)
		s.clock.forward(6*day + time.Minute)
		second := s.again(t)
		refused(t, s.confirm(t, first), http.StatusConflict, "CONFLICT", "checkout.checkout_token")
		s.clock.forward(30 * day)
		refused(t, s.confirm(t, first), http.StatusConflict, "CONFLICT", "checkout.checkout_token")
		if r := s.confirm(t, second); r.status != http.StatusOK || r.at("already_confirmed") != false {
			t.Errorf("the latest token, long expired: %d %s", r.status, r.text)
		}
	})
}

func TestContract4APairThatNeverHasADayLeftIsNewOnEachReplay(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		pairs := []response{s.create(t, "ORDER-1")}
		for epoch := 2; epoch <= 5; epoch++ {
			next := s.again(t)
			if prefix := fmt.Sprintf("%s.%d.", next.string("checkout.checkout_id"), epoch); !strings.HasPrefix(next.string("direct_debit.token"), prefix) {
				t.Errorf("token %q, want %s…", next.at("direct_debit.token"), prefix)
			}
			pairs = append(pairs, next)
		}
		for i, pair := range pairs {
			if page := s.page(t, pair); page.status != http.StatusOK {
				t.Errorf("the page of pair %d answers %d", i+1, page.status)
			}
		}
	}, lifetime(2*time.Hour))
}

func TestContract4NoTokenKeyOrStudentIsLoggedOrStored(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		created := s.create(t, "ORDER-1")
		s.again(t)
		s.page(t, created)
		s.setUp(t, created)
		s.get(t, "KOWHAI", checkoutPath(created))
		s.confirm(t, created)
		signature := created.string("direct_debit.token")[strings.LastIndexByte(created.string("direct_debit.token"), '.')+1:]
		for _, secret := range []string{signature, s.keys["KOWHAI"], "whsec_", "Aroha", "Ngata", "aroha.ngata", demo.AccountHolder, demo.AccountNumber} {
			if strings.Contains(s.logs.String(), secret) {
				t.Errorf("the log holds %q", secret)
			}
		}
		if stored := fmt.Sprintf("%+v", s.dossiers(t)); strings.Contains(stored, signature) || !strings.Contains(stored, "Aroha") {
			t.Errorf("the record holds the token's signature, or not the student: %s", stored)
		}
	})
}
