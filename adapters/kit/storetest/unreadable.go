package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// UnreadableRows tests that a store whose rows can be damaged keeps the promise of checkout.Visitor: an export does not end
// at one bad row. open returns a new store, and a function that runs an SQL statement on it.
func UnreadableRows(t *testing.T, open func(t *testing.T) (s ports.Admin, execute func(statement string))) {
	for _, damage := range []struct{ name, statement string }{
		{"a day that does not exist", `UPDATE checkouts SET first_payment_date = '2027-02-30' WHERE id = '%s'`},
		{"a consent that is not JSON", `UPDATE checkouts SET consent = '{"at_ms":' WHERE id = '%s'`},
		{"setup tokens that are none", `UPDATE checkouts SET setup_tokens = 'x' WHERE id = '%s'`},
		{"a schedule that is not JSON", `UPDATE agreements SET schedule = 'x' WHERE checkout_id = '%s'`},
		{"details that are not JSON", `UPDATE agreements SET details = 'x' WHERE checkout_id = '%s'`},
		{"an agreed day that does not exist", `UPDATE agreements SET first_payment_date = '2027-02-30' WHERE checkout_id = '%s'`},
		{"a hash that is too short", `UPDATE documents SET sha256 = substr(sha256, 1, 3)
			WHERE agreement_number = (SELECT number FROM agreements WHERE checkout_id = '%s')`},
	} {
		t.Run(damage.name, func(t *testing.T) {
			s, execute := open(t)
			unreadableRows(t, s, func(id string) { execute(fmt.Sprintf(damage.statement, id)) })
		})
	}
}

// unreadableRows damages some of more checkouts than a store is likely to read at once.
func unreadableRows(t *testing.T, s ports.Admin, damage func(checkoutID string)) {
	const total = 130
	var sound, bad []string
	for n := range total {
		insert(t, s, opened(n))
		sound = append(sound, opened(n).Next.ID)
	}
	for _, n := range []int{0, 57, 58, 99, total - 1} {
		bad = append(bad, opened(n).Next.ID)
		confirm(t, s, opened(n).Next.ID, int64(n))
		damage(opened(n).Next.ID)
	}
	sound = slices.DeleteFunc(sound, func(id string) bool { return slices.Contains(bad, id) })

	var got, unreadable []string
	visit := new(record).collect()
	visit.Checkout = func(c checkout.CheckoutRecord) error { got = append(got, c.Checkout.ID); return nil }
	visit.Unreadable = func(id string, err error) error {
		if err == nil {
			t.Errorf("checkout %s is unreadable without an error", id)
		}
		unreadable = append(unreadable, id)
		return nil
	}
	must(t, "Export", s.Export(t.Context(), visit))
	same(t, "unreadable", unreadable, bad)
	same(t, "exported", got, sound)

	end := errors.New("enough")
	visit.Unreadable = func(string, error) error { return end }
	if err := s.Export(t.Context(), visit); err != end {
		t.Errorf("Export: got error %v, want the very error of Unreadable", err)
	}
}
