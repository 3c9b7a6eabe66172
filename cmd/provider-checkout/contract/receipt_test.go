package contract_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// sealing has a suite's server sign under a key. It returns the public half.
func sealing(t *testing.T, seed byte) (public evidence.Keys, change func(*service.Config, *httpapi.Options)) {
	t.Helper()
	private, err := evidence.NewKey("pay.example.nz", [32]byte{seed})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := evidence.ParseKeys(private)
	if err != nil {
		t.Fatal(err)
	}
	public, err = evidence.ParseKeys(keys.Public())
	if err != nil {
		t.Fatal(err)
	}
	return public, func(c *service.Config, _ *httpapi.Options) { c.Evidence, c.SealWithin = keys, 10*time.Minute }
}

// A confirm, its repeat and every poll after it have one receipt, which the public key alone verifies: of the record in the log,
// with the promise to seal it.
func TestTheReceiptIsOneLineInEveryAnswer(t *testing.T) {
	public, signed := sealing(t, 1)
	contract(t, func(t *testing.T, s *suite) {
		created := s.Ready(t, "ORDER-1")
		if polled := s.Get(t, created.Provider(), created.CheckoutPath()); polled.At("agreement") != nil {
			t.Errorf("before the confirm: %+v, want no agreement", polled)
		}
		confirmed := s.Confirm(t, created)
		line := confirmed.String("agreement.receipt")
		r, err := public.OpenReceipt(line)
		if err != nil || r.Number != confirmed.String("agreement.number") || r.Until.Sub(r.At) != 10*time.Minute || strings.ContainsAny(line, "\r\n") {
			t.Errorf("%+v: the receipt says %+v, %v", confirmed, r, err)
		}
		entry, _, err := s.Store.EvidenceEntry(t.Context(), evidence.AgreementID(r.Number))
		if err != nil || !r.Of(entry.Leaf) {
			t.Errorf("the receipt %+v is not of the record %s, %v", r, entry.Leaf, err)
		}
		repeated, polled := s.Confirm(t, created), s.Get(t, created.Provider(), created.CheckoutPath())
		if repeated.String("agreement.receipt") != line || repeated.At("already_confirmed") != true || polled.String("agreement.receipt") != line {
			t.Errorf("repeated %+v and polled %+v; want the receipt %s", repeated, polled, line)
		}
		s.withdraw(t, "ORDER-1")
		if polled := s.Get(t, created.Provider(), created.CheckoutPath()); polled.String("agreement.receipt") != line || polled.String("agreement.withdrawn_at") == "" {
			t.Errorf("after the withdrawal: %+v, want the receipt too", polled)
		}
	}, signed)
}

// A server without an evidence key promises nothing.
func TestThereIsNoReceiptWithoutAKey(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Ready(t, "ORDER-1")
		for _, r := range []response{s.Confirm(t, created), s.Confirm(t, created), s.Get(t, created.Provider(), created.CheckoutPath())} {
			if r.Status != http.StatusOK || r.At("agreement.receipt") != nil {
				t.Errorf("%+v, want no receipt", r)
			}
		}
	})
}
