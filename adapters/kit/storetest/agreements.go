package storetest

import (
	"bytes"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Agreements tests a store against what ports.Checkouts promises about agreements and documents.
func Agreements(t *testing.T, open Open) {
	run(t, open, []promise{
		{"an agreement comes back as it was stored, odd text and figures included", agreementComesBack},
		{"an agreement with nothing but its figures comes back with nothing else", func(t *testing.T, s ports.Admin) {
			insert(t, s, opened(1))
			a := agreed(opened(1).Next, 1)
			a.Sandbox, a.Provider.Colour, a.Terms = false, "", agreement.Terms{}
			a.DirectDebit.Consent, a.Notice = agreement.Consent{}, agreement.Notice{}
			conclude(t, s, opened(1), a, nil)
			gets(t, "agreement", a)(s.Agreement(t.Context(), a.Number))
		}},
		{"a schedule of the longest plan comes back whole and in order", func(t *testing.T, s ports.Admin) {
			insert(t, s, opened(1))
			a := agreed(opened(1).Next, 1)
			a.Schedule = schedule(money.MaxInstalments + 1)
			a.Schedule[money.MaxInstalments].Due = money.Date{Year: 2249, Month: time.December, Day: 31}
			conclude(t, s, opened(1), a, nil)
			got := result(s.Agreement(t.Context(), a.Number))(t)
			same(t, "schedule", got.Schedule, a.Schedule)
		}},
		{"a document comes back byte for byte", documentComesBack},
		{"an agreement may have no document, which may be stored after it, once", documentFollows},
		{"a document without an agreement is refused", documentAlone},
		{"an agreement or document that does not exist is not found", func(t *testing.T, s ports.Admin) {
			insert(t, s, opened(1))
			a := confirm(t, s, opened(1).Next.ID, 1).Agreement
			for _, number := range []string{"", "PPA-2026-000002", "ppa-2026-000001", a.ID} {
				missing(t, "Agreement "+number)(s.Agreement(t.Context(), number))
				missing(t, "Document "+number)(s.Document(t.Context(), number))
			}
		}},
		{"a checkout has one agreement", oneAgreement},
		{"of many concurrent agreements of one number one succeeds", concurrentNumber},
		{"the number of another provider is refused, and nothing is stored", numberOfAnotherProvider},
	})
}

// conclude stores the agreement, and the document if there is one, with the checkout.
func conclude(t *testing.T, s ports.Admin, c checkout.Change, a agreement.Agreement, d *agreement.Document) {
	t.Helper()
	update(t, s, c.Next.ID, func(c checkout.Checkout) checkout.Change {
		return checkout.Change{Next: c, Agreement: &a, Document: d}
	})
}

func agreementComesBack(t *testing.T, s ports.Admin) {
	for i, text := range oddTexts() {
		c := opened(i)
		insert(t, s, c)
		a := agreed(c.Next, int64(i))
		a.ID, a.Number = text, "PPA-"+text
		a.Version, a.OrderID = text, text
		a.Provider = agreement.Party{Code: c.Next.ProviderCode, Name: text, SupportEmail: text, Colour: text}
		a.Terms = agreement.Terms{Lender: agreement.Lender{Name: text, Address: text, Registration: text},
			Blocks: []agreement.Block{{Title: text, Text: text}, {Title: text + text, Text: text}}}
		a.Student = agreement.Student{FirstName: text, LastName: text, Email: text}
		a.Course = agreement.Course{Code: text, Name: text}
		a.DirectDebit.AuthorityID, a.DirectDebit.AccountHolder = text, text
		a.DirectDebit.AccountMask = agreement.AccountMask(text)
		a.Pricing = money.Pricing{Price: math.MaxInt64, Upfront: 1<<53 + 1, Principal: math.MinInt64}
		a.Plan.Instalments = money.Instalments{Number: i, Regular: math.MaxInt64, Final: 1<<53 + 1}
		zone := time.FixedZone("NZST", 12*60*60)
		when := time.Date(2026, time.June, 1, 9, i, 0, 1_999_999, zone)
		a.AcceptedAt, a.DirectDebit.AuthorisedAt, a.DirectDebit.Consent.At = when, when, when
		conclude(t, s, c, a, nil)

		when = when.UTC().Truncate(time.Millisecond)
		a.AcceptedAt, a.DirectDebit.AuthorisedAt, a.DirectDebit.Consent.At = when, when, when
		gets(t, "agreement", a)(s.Agreement(t.Context(), a.Number))
	}
}

func documentComesBack(t *testing.T, s ports.Admin) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	insert(t, s, opened(1))
	a := agreed(opened(1).Next, 1)
	want := document(a, string(bytes.Repeat(every, 400))) // 100 KiB
	conclude(t, s, opened(1), a, &want)
	gets(t, "document", want)(s.Document(t.Context(), a.Number))
	same(t, "described", export(t, s).Checkouts[0].Document,
		&checkout.DocumentInfo{ID: want.ID, SHA256: want.SHA256, Size: 102_400})
}

func documentFollows(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	a := agreed(opened(1).Next, 1)
	conclude(t, s, opened(1), a, nil)
	missing(t, "Document")(s.Document(t.Context(), a.Number))
	r := export(t, s).Checkouts[0]
	same(t, "agreement", r.Agreement, &a)
	same(t, "no document", r.Document, (*checkout.DocumentInfo)(nil))
	want := document(a, "late")
	follow := deciding(func(c checkout.Checkout) checkout.Change { return checkout.Change{Next: c, Document: &want} })
	must(t, "UpdateCheckout", s.UpdateCheckout(t.Context(), a.CheckoutID, pending(), follow))
	gets(t, "document", want)(s.Document(t.Context(), a.Number))
	refused(t, "a second document", s.UpdateCheckout(t.Context(), a.CheckoutID, pending(), follow), ports.ErrDuplicate)
}

func documentAlone(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	unchanged(t, s, func() {
		err := s.UpdateCheckout(t.Context(), opened(1).Next.ID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
			d := document(agreed(c, 1), "alone")
			return checkout.Change{Next: completed(c), Document: &d}, nil
		})
		if err == nil || errors.Is(err, ports.ErrNotFound) || errors.Is(err, ports.ErrDuplicate) {
			t.Errorf("UpdateCheckout: got error %v, want one that is none of ports", err)
		}
	})
}

func oneAgreement(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	conclude(t, s, opened(1), agreed(opened(1).Next, 1), nil)
	unchanged(t, s, func() {
		second := agreed(opened(1).Next, 2)
		err := s.UpdateCheckout(t.Context(), second.CheckoutID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
			return checkout.Change{Next: completed(c), Agreement: &second}, nil
		})
		refused(t, "a second agreement", err, ports.ErrDuplicate)
		missing(t, "Agreement")(s.Agreement(t.Context(), second.Number))
	})
}

// Numbers are random: two confirms may generate the same one.
func concurrentNumber(t *testing.T, s ports.Admin) {
	for i := range many {
		insert(t, s, opened(i))
	}
	errs := concurrently(many, func(i int) error {
		return s.UpdateCheckout(t.Context(), opened(i).Next.ID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
			return confirmed(completed(c), 1), nil
		})
	})
	winner := oneWins(t, "UpdateCheckout", errs, ports.ErrDuplicate)
	a := result(s.Agreement(t.Context(), agreed(opened(1).Next, 1).Number))(t)
	same(t, "the checkout of the agreement", a.CheckoutID, opened(winner).Next.ID)
	for i, c := range export(t, s).Checkouts {
		if (c.Agreement != nil) != (i == winner) || (c.Checkout.Status == checkout.Confirmed) != (i == winner) {
			t.Errorf("checkout %d has status %s and agreement %v, though %d won", i, c.Checkout.Status, c.Agreement, winner)
		}
	}
}

func numberOfAnotherProvider(t *testing.T, s ports.Admin) {
	mine, theirs := opened(1), ofProvider("RIMU", opened(1))
	confirm := func(c checkout.Checkout) (checkout.Change, error) { return confirmed(completed(c), 1), nil }
	insert(t, s, mine, theirs)
	must(t, "UpdateCheckout", s.UpdateCheckout(t.Context(), mine.Next.ID, pending(), confirm))
	unchanged(t, s, func() {
		err := s.UpdateCheckout(t.Context(), theirs.Next.ID, pending(), confirm)
		refused(t, "the number of another provider", err, ports.ErrDuplicate)
	})
	a := result(s.Agreement(t.Context(), agreed(mine.Next, 1).Number))(t)
	same(t, "the provider of the agreement", a.Provider.Code, mine.Next.ProviderCode)
}
