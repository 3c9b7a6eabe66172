// Package crmtest tests a CRM against every promise of ports.CRM.
//
//	func TestCRM(t *testing.T) { crmtest.Run(t, open) }
package crmtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Bench is a CRM of the sandbox that is under test.
type Bench struct {
	ports.CRM
	// Stored returns the records under the identifiers of a checkout.
	Stored func(t testing.TB, c checkout.Checkout) Stored
	// Trouble has each call to the system behind the CRM, counted from 0, suffer what a function says, from now on.
	Trouble func(of func(call int) Trouble)
	// Delete deletes the records of a checkout, as a user of the CRM may.
	Delete func(t testing.TB, c checkout.Checkout)
}

// Stored is the record of one checkout in a CRM.
type Stored struct {
	Contacts, Enrolments, Authorities, Agreements, Documents int

	Stages       []string // that the enrolment was given, in their order: open, complete, cancelled, withdrawn
	End          string   // "" before the end
	LastName     string
	CourseName   string
	FirstPayment string // of the enrolment: 2027-02-01
	Mandate      checkout.MandateStatus
	Number       string // of the agreement
	Facts        string
	Document     []byte
}

// Trouble is the fault that a call suffers.
type Trouble int

// The troubles of a call.
const (
	None       Trouble = iota
	LostBefore         // no answer, and no effect
	LostAfter          // no answer, though it had its effect
	Refused            // a definite refusal of the records that it writes
	Busy               // the system takes no calls now
)

// Run tests a CRM. open returns a new one, without records.
func Run(t *testing.T, open func(t *testing.T) *Bench) {
	for _, p := range []struct {
		name string
		test func(*testing.T, *Bench)
	}{
		{"one set of records under repeats", repeats},
		{"one set of records under concurrency", concurrency},
		{"an older revision is not written over a newer one", older},
		{"a stage is written once, and forward", forward},
		{"a withdrawn enrolment that the CRM has not heard of is never complete", unheard},
		{"an agreement without a PDF is complete", withoutDocument},
		{"a refusal changes nothing, and ends", refused},
		{"a CRM that takes no calls is busy, and comes back", busy},
		{"an enrolment that is complete under another agreement stays so", otherAgreement},
		{"a stage beyond the store's is not taken back", beyond},
		{"an order that is opened again has the new details", reopened},
		{"a record that is missing is not made again", missing},
		{"what Check takes is taken", checked},
		{"a context that has ended ends a call", ended},
	} {
		t.Run(p.name, func(t *testing.T) { p.test(t, open(t)) })
	}
	for _, trouble := range []Trouble{LostBefore, LostAfter} {
		t.Run(fmt.Sprintf("one set of records when any answer is lost %v", trouble == LostAfter), func(t *testing.T) { lost(t, open, trouble) })
	}
}

// want checks the records of a checkout: one of each, and an agreement and a document if they are given.
func (b *Bench) want(t *testing.T, e checkout.Enrolment, stages ...string) {
	t.Helper()
	c := e.Checkout
	want := Stored{Contacts: 1, Enrolments: 1, Authorities: 1, Stages: stages, LastName: c.Student.LastName, CourseName: c.Intent.CourseName,
		FirstPayment: c.FirstPayment().String(), Mandate: c.Setup.Mandate}
	got := b.Stored(t, c)
	if e.Agreement != nil {
		want.Agreements, want.Number = 1, e.Agreement.Number
		for _, p := range e.Agreement.Payments() {
			if !strings.Contains(got.Facts, p.Taken.String()) || !strings.Contains(got.Facts, p.Due.String()) {
				t.Errorf("the facts %s lack the payment that is planned for %s and taken on %s", got.Facts, p.Due, p.Taken)
			}
		}
	}
	if e.Document != nil {
		want.Documents, want.Document = 1, e.Document.Bytes
	}
	if (got.End != "") != c.Ended() {
		t.Errorf("the end is %q, want one: %v", got.End, c.Ended())
	}
	if got.End, got.Facts = "", ""; !reflect.DeepEqual(got, want) {
		t.Errorf("stored %+v\nwant   %+v", got, want)
	}
}

// sync writes an enrolment, or ends the test.
func (b *Bench) sync(t *testing.T, e checkout.Enrolment) checkout.Enrolment {
	t.Helper()
	if err := b.Sync(t.Context(), e); err != nil {
		t.Fatalf("Sync of revision %d over %d: %v", e.Checkout.Revision, e.Written, err)
	}
	return e
}

// refuses checks that Sync refuses an enrolment with a code and with texts, and changes nothing.
func (b *Bench) refuses(t *testing.T, e checkout.Enrolment, code string, texts ...any) {
	t.Helper()
	before := b.Stored(t, e.Checkout)
	err := b.Sync(t.Context(), e)
	refusal, ok := errors.AsType[*checkout.CRMRefusal](err)
	if !ok || code != "" && refusal.Code != code {
		t.Fatalf("Sync = %v, want the refusal %s", err, code)
	}
	for _, text := range texts {
		if !strings.Contains(refusal.Error(), fmt.Sprint(text)) {
			t.Errorf("refusal %q, want it to name %v", refusal, text)
		}
	}
	if after := b.Stored(t, e.Checkout); !reflect.DeepEqual(after, before) {
		t.Errorf("after the refusal %+v, want %+v as it was", after, before)
	}
}

// lives returns sequences of enrolments for Sync, one for each way through the stages.
func lives(order string) map[string][]checkout.Enrolment {
	whole, unheard, gone := Opened(order+"-1"), Opened(order+"-2"), Opened(order+"-3")
	return map[string][]checkout.Enrolment{
		"open complete withdrawn": {whole, Confirmed(whole), Active(Confirmed(whole)), Withdrawn(Active(Confirmed(whole))),
			Active(Withdrawn(Active(Confirmed(whole))))},
		"open withdrawn": {Withdrawn(Confirmed(unheard)), Active(Withdrawn(Confirmed(unheard)))},
		"open cancelled": {gone, Active(gone), Active(Active(gone)), Cancelled(Active(Active(gone)))},
	}
}

// Over returns an enrolment that follows another which was written whole.
func Over(e, written checkout.Enrolment) checkout.Enrolment {
	e.Written = written.Checkout.Revision
	return e
}

func repeats(t *testing.T, b *Bench) {
	for stages, life := range lives("repeats") {
		var last checkout.Enrolment
		for _, e := range life {
			for _, written := range []int64{last.Checkout.Revision, 0, e.Checkout.Revision} { // also of a store that was restored
				e.Written = written
				b.sync(t, e)
			}
			last = e
		}
		b.want(t, last, strings.Fields(stages)...)
	}
}

func concurrency(t *testing.T, b *Bench) {
	for stages, life := range lives("concurrency") {
		var last checkout.Enrolment
		for _, e := range life {
			e = Over(e, last)
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					if err := b.Sync(t.Context(), e); err != nil {
						t.Errorf("Sync of revision %d among others: %v", e.Checkout.Revision, err)
					}
				})
			}
			all.Wait()
			last = e
		}
		b.want(t, last, strings.Fields(stages)...)
	}
}

func older(t *testing.T, b *Bench) {
	for stages, life := range lives("older") {
		for i := range life {
			if i > 0 {
				life[i] = Over(life[i], life[i-1])
			}
			b.sync(t, life[i])
			for _, before := range life[:i] {
				b.refuses(t, before, checkout.CRMAhead, before.Checkout.Revision, life[i].Checkout.Revision)
			}
		}
		b.want(t, life[len(life)-1], strings.Fields(stages)...)
	}
}

// A process may go on with any revision when another has written a newer one, and hold a wrong idea of what was written.
func forward(t *testing.T, b *Bench) {
	for stages, life := range lives("forward") {
		last := life[len(life)-1]
		for _, e := range life {
			b.sync(t, e)
		}
		for _, e := range life {
			_ = b.Sync(t.Context(), Over(e, last)) // refused unless it is the last
		}
		b.want(t, last, strings.Fields(stages)...)
	}
}

func unheard(t *testing.T, b *Bench) {
	e := Opened("unheard")
	b.sync(t, e)
	b.want(t, b.sync(t, Over(Withdrawn(Confirmed(e)), e)), "open", "withdrawn")
}

func withoutDocument(t *testing.T, b *Bench) {
	e := Opened("without")
	b.sync(t, e)
	done := Over(Confirmed(e), e)
	done.Document = nil
	b.want(t, b.sync(t, done), "open", "complete")
}

func refused(t *testing.T, b *Bench) {
	e := Opened("refused")
	b.Trouble(func(int) Trouble { return Refused })
	b.refuses(t, e, "")
	b.Trouble(func(int) Trouble { return None })
	b.sync(t, e)
	b.Trouble(func(int) Trouble { return Refused })
	b.refuses(t, Over(Confirmed(e), e), "")
	b.Trouble(func(int) Trouble { return None })
	b.want(t, b.sync(t, Over(Confirmed(e), e)), "open", "complete")
}

func busy(t *testing.T, b *Bench) {
	e := Opened("busy")
	b.Trouble(func(int) Trouble { return Busy })
	if err := b.Sync(t.Context(), e); !errors.Is(err, ports.ErrBusy) {
		t.Errorf("Sync = %v, want %v", err, ports.ErrBusy)
	}
	if err := b.Ready(t.Context()); err == nil {
		t.Error("Ready = nil of a CRM that takes no calls")
	}
	b.Trouble(func(int) Trouble { return None })
	b.want(t, b.sync(t, e), "open")
	if err := b.Ready(t.Context()); err != nil {
		t.Errorf("Ready = %v of a CRM that takes calls", err)
	}
}

func otherAgreement(t *testing.T, b *Bench) {
	e := Opened("other")
	b.sync(t, e)
	first := b.sync(t, Over(Confirmed(e), e))
	again := Confirmed(Active(first)) // as after a restore of the store to a time before the confirm
	again.Agreement.Number, again.Checkout.Confirmation.AgreementNumber = "PPA-2027-OTHER", "PPA-2027-OTHER"
	b.refuses(t, Over(again, e), checkout.CRMOtherAgreement, first.Agreement.Number, again.Agreement.Number)
	reopened := e
	reopened.Checkout.Revision = again.Checkout.Revision
	b.refuses(t, reopened, checkout.CRMOtherAgreement, first.Agreement.Number)
	b.want(t, first, "open", "complete")
}

func beyond(t *testing.T, b *Bench) {
	e := Opened("beyond")
	b.sync(t, e)
	gone := b.sync(t, Over(Cancelled(e), e))
	b.refuses(t, Over(Confirmed(Active(e)), e), checkout.CRMAhead, "cancelled", "complete")
	b.want(t, gone, "open", "cancelled")
}

func reopened(t *testing.T, b *Bench) {
	e := b.sync(t, Opened("reopened"))
	e.Checkout.Revision++
	e.Checkout.ID, e.Checkout.Student.LastName, e.Checkout.Intent.CourseName = e.Checkout.ID+"2", "Rata", "Carpentry"
	b.want(t, b.sync(t, e), "open")
}

func missing(t *testing.T, b *Bench) {
	e := b.sync(t, Opened("missing"))
	b.Delete(t, e.Checkout)
	b.refuses(t, Over(Active(e), e), checkout.CRMMissing)
}

func checked(t *testing.T, b *Bench) {
	for i, length := range []int{40, 41, 80, 81, 121, 255} {
		e := Opened(fmt.Sprintf("checked-%d", length))
		*[]*string{&e.Checkout.Student.FirstName, &e.Checkout.Student.LastName}[i%2] = strings.Repeat("ā", length)
		e.Checkout.Intent.CourseName = strings.Repeat("b", length)
		faults := b.Check(e)
		for _, f := range faults {
			if !slices.Contains([]string{checkout.FieldFirstName, checkout.FieldLastName}, f.Field) || f.Message == "" {
				t.Errorf("%d characters: the fault %+v, want one of a name, and the course's name shortened", length, f)
			}
		}
		if err := b.Sync(t.Context(), e); len(faults) == 0 && err != nil {
			t.Errorf("%d characters: Check takes them, Sync = %v", length, err)
		}
	}
}

func ended(t *testing.T, b *Bench) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	cancel()
	if err := b.Sync(ctx, Opened("ended")); err == nil {
		t.Error("Sync = nil after its context has ended")
	}
}

// lost loses the answer to each call of each life of an enrolment, one at a time.
func lost(t *testing.T, open func(*testing.T) *Bench, trouble Trouble) {
	for stages := range lives("") {
		for at, met := 0, true; met; at++ {
			b, calls := open(t), 0
			b.Trouble(func(int) Trouble {
				if calls++; calls == at+1 {
					return trouble
				}
				return None
			})
			var last checkout.Enrolment
			for _, e := range lives("lost")[stages] {
				e = Over(e, last)
				err := b.Sync(t.Context(), e)
				for range 3 {
					if errors.As(err, new(*checkout.CRMRefusal)) {
						t.Errorf("the answer to call %d is lost: %v, want no refusal", at, err)
					}
					if err != nil {
						err = b.Sync(t.Context(), e)
					}
				}
				if err != nil {
					t.Fatalf("the answer to call %d is lost: in the end %v", at, err)
				}
				last = e
			}
			b.want(t, last, strings.Fields(stages)...)
			met = calls > at
		}
	}
}
