package checkout_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// fill sets every text of a value to its path, and puts one element into every list.
func fill(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(path)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				fill(v.Field(i), strings.TrimPrefix(path+"."+f.Name, "."))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), path)
	}
}

// texts lists the texts of a value that are not empty.
func texts(v reflect.Value) (list []string) {
	switch v.Kind() {
	case reflect.String:
		if v.String() != "" {
			list = append(list, v.String())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				list = append(list, texts(v.Field(i))...)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			list = append(list, texts(v.Index(i))...)
		}
	}
	return list
}

// Whoever adds a text to a checkout or an agreement decides here whether an erasure leaves it.
func TestAnErasureLeavesTheseTextsAndNoOthers(t *testing.T) {
	var c checkout.Checkout
	fill(reflect.ValueOf(&c).Elem(), "")
	identity := strings.Fields("ID ProviderCode OrderID IdempotencyKey RequestID CreatedBy")
	concluded := strings.Fields(`CourseCode Intent.CourseName Intent.Plan.Frequency
		Setup.Consent.Terms Setup.Consent.Disclosed.SHA256 Setup.Consent.Disclosed.Page Setup.Observation.BillingRequest Setup.Observation.Mandate Setup.Observation.MandateReason
		Setup.Observation.Authorisation Confirmation.RequestID Confirmation.AgreementNumber`)
	ended := []string{"End.By", "End.Ground"}
	c.Status = checkout.Confirmed
	if got, want := texts(reflect.ValueOf(c.Erase(noon, checkout.ActorService, nil).Next)), slices.Concat(identity, []string{"confirmed"}, concluded, ended); !slices.Equal(got, want) {
		t.Errorf("a confirmed checkout keeps\n%q\nwant\n%q", got, want)
	}
	c.Status, c.Confirmation = checkout.SetupRequired, checkout.Confirmation{}
	want := slices.Concat(identity, []string{"direct_debit_setup_required"}, concluded[:3], []string{"pending", "Customer In Progress"}, ended)
	if got := texts(reflect.ValueOf(c.Erase(noon, checkout.ActorService, nil).Next)); !slices.Equal(got, want) {
		t.Errorf("an open checkout keeps\n%q\nwant\n%q", got, want)
	}

	var a agreement.Agreement
	fill(reflect.ValueOf(&a).Elem(), "")
	want = strings.Fields(`Number Version CheckoutID OrderID SignedBy Requests.Create Requests.Confirm Provider.Code Provider.Name Provider.SupportEmail Provider.Colour
		Course.Code Course.Name Plan.Frequency Schedule.Type DirectDebit.AuthorityID DirectDebit.Consent.Terms
		DirectDebit.Consent.Disclosed.SHA256 DirectDebit.Consent.Disclosed.Page
		Terms.Lender.Name Terms.Lender.Address Terms.Lender.Registration Terms.Lender.Email Terms.Disputes.Name Terms.Disputes.Contact
		Terms.Cancellation.How Terms.Hardship Terms.DefaultFees.Fees.Name Terms.DefaultFees.Fees.When Terms.Authority.Initiator
		Terms.Authority.AuthorisationCode Terms.Authority.Statement Terms.Authority.Form Terms.Authority.Calendar
		Terms.Authority.Conditions.Title Terms.Authority.Conditions.Text Terms.Blocks.Title Terms.Blocks.Text`)
	if got := texts(reflect.ValueOf(a.Erased())); !slices.Equal(got, want) {
		t.Errorf("an agreement keeps\n%q\nwant\n%q", got, want)
	}
}

// erasedBefore returns an open checkout that was erased, the same confirmed and then erased, and the confirm of both.
func erasedBefore(t *testing.T) (open, confirmed checkout.Checkout, cmd checkout.Confirm) {
	t.Helper()
	c, cmd, change := confirmedNow(t)
	return c.Erase(noon, checkout.ActorService, nil).Next, change.Next.Erase(noon, checkout.ActorService, nil).Next, cmd
}

// A call that was under way when the data was erased brings nothing back.
func TestNothingComesBackAfterAnErasure(t *testing.T) {
	open, confirmed, _ := erasedBefore(t)
	seen := checkout.Observation{BillingRequest: checkout.BillingFulfilled, Mandate: checkout.MandateActive, MandateID: "MD1",
		Authorisation: checkout.Authorised, AccountHolder: "A NGATA", AccountMask: "89", CompletedAt: noon}
	for _, c := range []checkout.Checkout{open, confirmed} {
		for name, next := range map[string]checkout.Checkout{
			"begun":    c.Begun(c.NextTry(), "BR2", agreement.Consent{At: noon, From: "192.0.2.7"}).Next,
			"observed": c.Observe(seen, noon).Next,
			"renewed":  c.Renew(keyring(t), noon, day, "provider:key", "req_1").Next,
		} {
			if !reflect.DeepEqual(next, c) {
				t.Errorf("%s: %+v, want it as it was", name, next)
			}
		}
	}
}

// zone is that of New Zealand at a day without daylight saving.
var zone = time.FixedZone("NZST", 12*3600)

func TestWhatStillNeedsTheData(t *testing.T) {
	_, confirmed, _ := erasedBefore(t)
	confirmed.ErasedAt = time.Time{} // three weekly payments from 8 February 2027 on
	last := confirmed.Schedule()[len(confirmed.Schedule())-1].Due
	if err := confirmed.Erasable(last, zone); err == nil || err.Error() != fmt.Sprintf("payments under agreement PPA-2026-000000001A5 are collected until %s", last) {
		t.Errorf("on the last day: %v", err)
	}
	if err := confirmed.Erasable(last.AddDays(1), zone); err != nil {
		t.Errorf("on the next day: %v", err)
	}
	ended := withdrawn(t, confirmed).Next
	ended.Setup.BillingRequestID, ended.Setup.Mandate = "BR1", checkout.MandateActive
	if err := ended.Erasable(last.AddDays(1), zone); !errors.Is(err, checkout.ErrToEnd) {
		t.Errorf("withdrawn, with a mandate that lives: %v, want %v", err, checkout.ErrToEnd)
	}
	ended.Setup.Mandate = checkout.MandateCancelled
	if err := ended.Erasable(money.DateOf(noon), zone); err != nil {
		t.Errorf("withdrawn, and ended at the processor: %v", err)
	}
	late := confirmed // for a plan in the past payments start after the notice, and keep their period
	late.Intent.Plan.First, late.Confirmation.FirstPayment = money.Date{Year: 2001, Month: 1, Day: 1}, money.Date{Year: 2001, Month: 1, Day: 1}
	if err := late.Erasable(money.DateOf(noon), zone); err == nil {
		t.Error("a plan whose dates were over at the confirm is erased at once")
	}
}

func TestRetention(t *testing.T) {
	_, confirmed, _ := erasedBefore(t)
	confirmed.ErasedAt = time.Time{}
	last := confirmed.Schedule()[len(confirmed.Schedule())-1].Due
	open := openedNow(t).Next // at noon; its link opens for seven days
	seven := func(d money.Date, days int) time.Time {
		return time.Date(d.Year+7, d.Month, d.Day+days, 0, 0, 0, 0, zone)
	}
	set := func(c checkout.Checkout, change func(*checkout.Checkout)) checkout.Checkout { change(&c); return c }
	both := checkout.Retention{AbandonedDays: 90, AgreedYears: 7}
	for _, tt := range []struct {
		name     string
		checkout checkout.Checkout
		keep     checkout.Retention
		now      time.Time
		want     bool
	}{
		{"nothing set, for ever", open, checkout.Retention{}, noon.AddDate(99, 0, 0), false},
		{"abandoned, 90 days after its link", open, both, noon.Add((7 + 90) * day), false},
		{"abandoned, the day after that", open, both, noon.Add((7 + 91) * day), true},
		{"abandoned, where only agreements are limited", open, checkout.Retention{AgreedYears: 7}, noon.AddDate(99, 0, 0), false},
		{"a payer who came later", set(open, func(c *checkout.Checkout) { c.Setup.Consent.At = noon.Add(50 * day) }), both, noon.Add(140 * day), false},
		{"a setup that was completed later", set(open, func(c *checkout.Checkout) { c.Setup.CompletedAt = noon.Add(50 * day) }), both, noon.Add(140 * day), false},
		{"a link that was renewed", set(open, func(c *checkout.Checkout) { c.Tokens = []checkout.Token{{Epoch: 2, Expires: noon.Add(50 * day)}} }), both, noon.Add(140 * day), false},
		{"erased already", open.Erase(noon, checkout.ActorService, nil).Next, both, noon.AddDate(99, 0, 0), false},
		{"agreed, on the last day of the seventh year", confirmed, both, seven(last, 1).Add(-time.Millisecond), false},
		{"agreed, on the next day", confirmed, both, seven(last, 1), true},
		{"agreed and erased on request", confirmed.Erase(noon, checkout.ActorService, nil).Next, both, noon.AddDate(99, 0, 0), false},
		{"withdrawn, whose mandate lives", set(confirmed, func(c *checkout.Checkout) {
			c.End.At, c.Setup.BillingRequestID, c.Setup.Mandate = noon, "BRQ1", checkout.MandateActive
		}), both, noon.AddDate(99, 0, 0), false},
		{"withdrawn, whose mandate has ended", set(confirmed, func(c *checkout.Checkout) {
			c.End.At, c.Setup.BillingRequestID, c.Setup.Mandate = noon, "BRQ1", checkout.MandateCancelled
		}), both, noon.AddDate(99, 0, 0), true},
		{"agreed, where only abandoned ones are limited", confirmed, checkout.Retention{AbandonedDays: 90}, noon.AddDate(99, 0, 0), false},
		{"a record that cannot be", set(confirmed, func(c *checkout.Checkout) { c.Intent.Plan.Frequency = "" }), both, noon.AddDate(99, 0, 0), false},
	} {
		if got := tt.keep.Over(tt.checkout, tt.now, zone); got != tt.want {
			t.Errorf("%s: over %v, want %v", tt.name, got, tt.want)
		}
	}
	for keep, want := range map[checkout.Retention]int{{}: 0, both: 0, {AbandonedDays: 31, AgreedYears: 7}: 0,
		{AbandonedDays: 30}: 1, {AgreedYears: 6}: 1, {AbandonedDays: -1, AgreedYears: -1}: 2} {
		if got := keep.Check(); (got != nil) != (want > 0) || want == 2 && strings.Count(got.Error(), "\n") != 1 {
			t.Errorf("Check of %+v = %v, want %d faults", keep, got, want)
		}
	}
}

func TestSetupKeysAreThoseOfEveryTry(t *testing.T) {
	c, _ := ready(t)
	c.Setup.Try = 3
	want := []string{c.SetupKey(catalogue.Sandbox, 1), c.SetupKey(catalogue.Sandbox, 2), c.SetupKey(catalogue.Sandbox, 3)}
	if got := c.SetupKeys(catalogue.Sandbox); !slices.Equal(got, want) || want[0] == want[1] {
		t.Errorf("SetupKeys = %q, want three keys, %q", got, want)
	}
}
