package contract_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

func TestTheCallersRequestIDIsReturnedAndInTheJournal(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		r := s.Post(t, "KOWHAI", createPath, order(catalogueCreate, "ORDER-1"), "X-Request-Id", "my.Request_1-a")
		id := r.String("checkout.checkout_id")
		if got := r.Header.Get("X-Client-Request-Id"); r.Status != http.StatusCreated || got != "my.Request_1-a" {
			t.Errorf("answer %d with X-Client-Request-Id %q", r.Status, got)
		}
		if got := r.Header.Get("X-Request-Id"); !strings.HasPrefix(got, "req_") {
			t.Errorf("X-Request-Id is %q, want ours", got)
		}
		s.Post(t, "KOWHAI", r.CheckoutPath()+"/confirm", `{}`, "X-Request-Id", "my-confirm")
		moments, err := s.Store.Moments(t.Context(), id)
		var told []string
		for _, m := range moments {
			told = append(told, string(m.Kind)+": "+m.Detail)
		}
		if all := strings.Join(told, "\n"); err != nil || !strings.Contains(all, "created: (the caller's request my.Request_1-a)") ||
			!strings.Contains(all, string(checkout.MomentRefused)+": VALIDATION_ERROR") || !strings.Contains(all, "(the caller's request my-confirm)") {
			t.Errorf("the journal does not tell of the requests:\n%s\n%v", all, err)
		}
		for _, bad := range []string{"", "a b", strings.Repeat("a", 65), "é", "a;b", `"a"`} {
			if got := s.Send(t, http.MethodGet, r.CheckoutPath(), "", "Authorization", "Bearer "+s.Keys["KOWHAI"], "X-Request-Id", bad).Header.Values("X-Client-Request-Id"); len(got) > 0 {
				t.Errorf("X-Request-Id: %q is returned as %q", bad, got)
			}
		}
		if got := s.Send(t, http.MethodGet, "/v1", "", "X-Request-Id", strings.Repeat("a", 64)).Header.Get("X-Client-Request-Id"); len(got) != 64 {
			t.Errorf("an id of 64 characters is returned as %q", got)
		}
	})
}

var limit = regexp.MustCompile(`\A"default";r=(\d+);t=(\d+)\z`)

func TestAnswersToAGoodKeySayHowManyRequestsAreLeft(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		path := s.Create(t, "ORDER-1").CheckoutPath()
		for n, want := range []string{"4 1", "3 1", "2 2", "1 2", "0 2", "0 2"} {
			r := s.Get(t, "KOWHAI", path)
			found := limit.FindStringSubmatch(r.Header.Get("RateLimit"))
			if len(found) == 0 || found[1]+" "+found[2] != want || r.Header.Get("RateLimit-Policy") != `"default";q=3;w=1` {
				t.Errorf("answer %d (%d) has RateLimit %q and RateLimit-Policy %q, want r and t %s", n, r.Status,
					r.Header.Get("RateLimit"), r.Header.Get("RateLimit-Policy"), want)
			}
		}
		if r := s.Get(t, "KOWHAI", path); r.Status != http.StatusTooManyRequests || r.Header.Get("Retry-After") == "" {
			t.Errorf("the request after that is answered %d", r.Status)
		}
		if r := s.Get(t, "", path); r.Header.Get("RateLimit") != "" {
			t.Errorf("an answer to no key has RateLimit %q", r.Header.Get("RateLimit"))
		}
	}, func(_ *service.Config, o *httpapi.Options) { o.RateLimit = 3 })
}

func TestAnswersWithoutALimitSayNothingOfIt(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		if r := s.Create(t, "ORDER-1"); r.Header.Get("RateLimit") != "" || r.Header.Get("RateLimit-Policy") != "" {
			t.Errorf("without a limit an answer has %q", r.Header)
		}
	}, func(_ *service.Config, o *httpapi.Options) { o.RateLimit = 0 })
}
