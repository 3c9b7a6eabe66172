package crmtest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

func infoIsConstant(t *testing.T, b Bench) {
	first := b.CRM.Info()
	if first.Name == "" || first.Name != strings.ToLower(first.Name) || !first.Environment.Valid() {
		t.Errorf("Info() = %+v, want a word in lower case and an environment", first)
	}
	if err := b.CRM.Ready(t.Context()); err != nil {
		t.Errorf("Ready: %v", err)
	}
	b.open(t, b.enrolment("a"))
	if again := b.CRM.Info(); again != first {
		t.Errorf("Info() = %+v, want %+v as before", again, first)
	}
}

func openMakesOneOfEach(t *testing.T, b Bench) {
	e := b.enrolment("a")
	got := b.Stored(t, b.open(t, e).OpportunityID)
	want := Stored{Student: e.Student, CheckoutID: e.CheckoutID, Intent: e.Intent, Authorisation: checkout.CustomerInProgress,
		Counts: Counts{Contacts: 1, Opportunities: 1, Authorities: 1}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("stored %+v, want %+v", got, want)
	}
}

func openRepeated(t *testing.T, b Bench) {
	e := b.enrolment("a")
	first := b.open(t, e)
	restored := e // a store that was restored to an earlier moment gives an order's checkout another id than the CRM has on record
	restored.CheckoutID = other(e).CheckoutID
	b.unchanged(t, first.OpportunityID, func() {
		for _, later := range []checkout.Enrolment{e, e, anew(e), restored} {
			if again := b.open(t, later); again != first {
				t.Errorf("Open again of %+v = %+v, want %+v", later, again, first)
			}
		}
	})
}

// other returns an enrolment under the same key that has nothing else in common.
func other(e checkout.Enrolment) checkout.Enrolment {
	e.CheckoutID, e.CourseCode = "KOWHAI-1800000000001-bbbbbbbb23456777", "OTHER"
	e.Student = checkout.Student{FirstName: "Nikau", LastName: "Tūī", Email: "nikau@example.nz"}
	e.Intent = checkout.Intent{CourseName: "Another course", Pricing: money.Pricing{Price: 10_00, Principal: 10_00},
		Plan: money.Plan{Frequency: money.Weekly, Instalments: money.Instalments{Number: 1, Regular: 10_00, Final: 10_00},
			First: money.Date{Year: 2028, Month: time.March, Day: 1}}}
	return e
}

// anew returns the same enrolment as it is asked for once more, with another student.
func anew(e checkout.Enrolment) checkout.Enrolment {
	later := other(e)
	later.Intent = e.Intent
	return later
}

// A store that was restored to an earlier moment does not know that the order is another enrolment already.
func openWithOtherIntent(t *testing.T, b Bench) {
	e := b.enrolment("a")
	first := b.open(t, e)
	dearer, later := e, e
	dearer.Intent.Pricing = money.Pricing{Price: 2990_03, Upfront: 200_00, Principal: 2790_03}
	later.Intent.Plan.First = later.Intent.Plan.First.AddDays(1)
	b.unchanged(t, first.OpportunityID, func() {
		for field, wanted := range map[string]checkout.Enrolment{checkout.FieldPrice: dearer, checkout.FieldFirstPayment: later,
			checkout.FieldFrequency: other(e)} {
			var refused *checkout.CRMRefusal
			_, err := b.CRM.Open(t.Context(), wanted)
			if !errors.As(err, &refused) || !refused.OtherIntent || !refused.Made ||
				!slices.ContainsFunc(refused.Faults, func(f checkout.Fault) bool { return f.Field == field && f.Message != "" }) {
				t.Errorf("Open with another %s: %v, want a refusal that names it, and says that there are records", field, err)
			}
		}
	})
	if again := b.open(t, e); again != first {
		t.Errorf("Open with the intent on record = %+v, want %+v", again, first)
	}
}

func concurrentOpens(t *testing.T, b Bench) {
	e := b.enrolment("a")
	second := anew(e)
	records := together(t, func(i int) (checkout.Records, error) {
		return b.CRM.Open(t.Context(), []checkout.Enrolment{e, second}[i%2])
	})
	got := b.Stored(t, records.OpportunityID)
	if want := (Counts{Contacts: 1, Opportunities: 1, Authorities: 1}); got.Counts != want {
		t.Errorf("%+v records, want %+v", got.Counts, want)
	}
	if got.Intent != e.Intent || got.Student != e.Student && got.Student != second.Student {
		t.Errorf("stored %+v, want all of one enrolment", got)
	}
}

func keysApart(t *testing.T, b Bench) {
	e := b.enrolment("a")
	elsewhere := e
	elsewhere.ProviderCode = "TUI"
	first := b.open(t, e)
	for _, another := range []checkout.Enrolment{b.enrolment("b"), elsewhere} {
		if r := b.open(t, another); first.ContactID == r.ContactID || first.OpportunityID == r.OpportunityID || first.DDAID == r.DDAID {
			t.Errorf("two enrolments share a record: %+v, %+v", first, r)
		}
	}
}

func anyText(t *testing.T, b Bench) {
	wide := strings.Repeat("ā", 255) // the longest that a checkout holds
	for _, text := range []string{"x", wide, "Nguyễn Ωμέγα Жанна", "王小明", "👩‍🎓", `"<script>alert('1')</script>&amp;`,
		"100 % {{.}} $1 \\n", "@{contact.id}", "@{", "' OR Name != '", "=cmd()", "null", "true"} {
		e := b.enrolment(text)
		e.Student.FirstName, e.Student.LastName, e.Intent.CourseName = text, text, text
		records, err := b.CRM.Open(t.Context(), e)
		if err == nil {
			if got := b.Stored(t, records.OpportunityID); got.Student != e.Student || got.Intent.CourseName != text {
				t.Errorf("stored %+v, want the names %q", got, text)
			}
			c := b.completion(e, records)
			c.Setup.AccountHolder = text
			b.complete(t, c)
			if got := b.Stored(t, records.OpportunityID); got.AccountHolder != text || !got.Complete || got.Completions != 1 || got.ChangedAfter != 0 {
				t.Errorf("stored %+v, want the account holder %q, and the enrolment complete", got, text)
			}
			continue
		}
		var refused *checkout.CRMRefusal
		if !errors.As(err, &refused) || refused.Code == "" ||
			!slices.ContainsFunc(refused.Faults, func(f checkout.Fault) bool {
				return f.Field == "student.first_name" || f.Field == "student.last_name" || f.Field == "course.course_name"
			}) {
			t.Errorf("Open with the names %q: %v, want no error, or a refusal that says by its contract's name what does not fit", text, err)
		}
		if text != wide {
			t.Errorf("Open with the names %q: %v", text, err)
		}
		if strings.Contains(err.Error(), text) {
			t.Errorf("the refusal repeats a name: %v", err)
		}
	}
}

func inputUnchanged(t *testing.T, b Bench) {
	e, c := b.opened(t, "a")
	if want := b.enrolment("a"); !reflect.DeepEqual(e, want) {
		t.Errorf("Open made %+v of its argument, want %+v", e, want)
	}
	want := b.completion(e, c.Records)
	b.complete(t, c)
	if !reflect.DeepEqual(c, want) {
		t.Errorf("Complete made %+v of its argument, want %+v", c, want)
	}
}

func otherEnvironment(t *testing.T, b Bench) {
	e, c := b.opened(t, "a")
	elsewhere := catalogue.Production
	if e.Environment == elsewhere {
		elsewhere = catalogue.Sandbox
	}
	e.Environment, c.Environment = elsewhere, elsewhere
	if got, err := b.CRM.Open(t.Context(), e); err == nil {
		t.Errorf("Open in %s = %+v, want an error", elsewhere, got)
	}
	if got, err := b.CRM.Complete(t.Context(), c); err == nil {
		t.Errorf("Complete in %s = %+v, want an error", elsewhere, got)
	}
	if got, err := b.CRM.Agreed(t.Context(), e.EnrolmentKey); err == nil || errors.Is(err, ports.ErrNotFound) {
		t.Errorf("Agreed in %s = %+v, %v; want an error that is not ErrNotFound", elsewhere, got, err)
	}
}

func endedContext(t *testing.T, b Bench) {
	_, c := b.opened(t, "a")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	overdue, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	for _, ctx := range []context.Context{cancelled, overdue} {
		_, opened := b.CRM.Open(ctx, b.enrolment("b"))
		_, completed := b.CRM.Complete(ctx, c)
		_, agreed := b.CRM.Agreed(ctx, c.EnrolmentKey)
		for call, err := range map[string]error{"Open": opened, "Complete": completed, "Agreed": agreed, "Ready": b.CRM.Ready(ctx)} {
			if !errors.Is(err, ctx.Err()) && !errors.Is(err, ports.ErrBusy) {
				t.Errorf("%s with a context that has ended: %v, want %v or %v", call, err, ctx.Err(), ports.ErrBusy)
			}
		}
	}
	b.open(t, b.enrolment("b")) // the key is good as ever
	b.complete(t, c)
}
