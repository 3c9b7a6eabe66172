package processortest

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money/text"
	"github.com/provider-checkout/provider-checkout/ports"
)

// many is the number of concurrent calls.
const many = 24

func infoIsConstant(t *testing.T, b Bench) {
	first := b.Processor.Info()
	if first.Name == "" || first.Name != strings.ToLower(first.Name) {
		t.Errorf("Name = %q, want a word in lower case", first.Name)
	}
	if !first.Environment.Valid() || first.Environment != b.Account.Environment {
		t.Errorf("Environment = %q, want that of its account, %q", first.Environment, b.Account.Environment)
	}
	for _, page := range first.PageOrigins {
		u, err := url.Parse(page)
		secure := err == nil && (u.Scheme == "https" || u.Scheme == "http" && first.Environment == catalogue.Sandbox)
		if !secure || u.Host == "" || page != u.Scheme+"://"+strings.ToLower(u.Host) {
			t.Errorf("PageOrigins has %q, want scheme://host[:port] alone, with https in production", page)
		}
	}
	want := first
	want.PageOrigins = slices.Clone(first.PageOrigins)
	for i := range first.PageOrigins {
		first.PageOrigins[i] = "https://changed.example"
	}
	b.begin(t, b.start(t, "a"))
	if got := b.Processor.Info(); !reflect.DeepEqual(got, want) {
		t.Errorf("Info() = %+v after its caller changed the answer, want %+v", got, want)
	}
}

func startLeadsToAPage(t *testing.T, b Bench) {
	if err := b.Processor.Ready(t.Context()); err != nil {
		t.Errorf("Ready: %v", err)
	}
	request := b.begin(t, b.start(t, "a"))
	u, err := url.Parse(request.URL)
	if err != nil {
		t.Fatalf("Begin led to %q: %v", request.URL, err)
	}
	origin, service := u.Scheme+"://"+u.Host, "https://pay.example"
	if allowed := append(b.Processor.Info().PageOrigins, service); !slices.Contains(allowed, origin) {
		t.Errorf("Begin leads to %q, want an address at one of %q: a browser leaves the setup page for no other", request.URL, allowed)
	}
	b.Visit(t, request.URL)
}

func sameKey(t *testing.T, b Bench) {
	start := b.start(t, "a")
	first := b.begin(t, start)
	if want := b.start(t, "a"); !reflect.DeepEqual(start, want) {
		t.Errorf("Begin made %+v of its argument, want it as it was, %+v", start, want)
	}
	again := b.begin(t, start)
	b.Visit(t, first.URL)
	later := start
	later.ReturnURL = start.ReturnURL + "2" // a later token of the setup page
	third := b.begin(t, later)
	for i, got := range []checkout.BillingRequest{again, third} {
		if got.ID != first.ID {
			t.Errorf("start %d under one key made billing request %q, want %q, as the first did", i+2, got.ID, first.ID)
		}
		b.Visit(t, got.URL)
	}
}

func otherKey(t *testing.T, b Bench) {
	seen := map[string]string{}
	for _, name := range []string{"first try", "second try", "another enrolment"} {
		request := b.begin(t, b.start(t, name))
		if other, twice := seen[request.ID]; twice {
			t.Errorf("the keys of %s and of %s both made billing request %q", name, other, request.ID)
		}
		seen[request.ID] = name
	}
}

func concurrentStarts(t *testing.T, b Bench) {
	start := b.start(t, "a")
	requests, errs := make([]checkout.BillingRequest, many), make([]error, many)
	together(many, func(i int) {
		one := start
		if i%2 == 1 {
			one.ReturnURL += "2"
		}
		requests[i], errs[i] = b.Processor.Begin(t.Context(), one)
	})
	for i := range requests {
		if errs[i] != nil || requests[i].ID != requests[0].ID {
			t.Errorf("start %d of %d at once: %+v, %v; want billing request %q, as of the others", i, many, requests[i], errs[i], requests[0].ID)
		}
	}
	b.Visit(t, requests[0].URL)
}

func anyText(t *testing.T, b Bench) {
	wide := strings.Repeat("ā", 255) // the longest that a checkout holds
	for _, text := range []string{
		"x", wide, "Nguyễn Ωμέγα Жанна", "王小明", "נועה", "नर\u200dस", "👩‍🎓", `"<script>alert('1')</script>&amp;`, "100 % {{.}} $1 \\n",
	} {
		start := b.start(t, text)
		start.ProviderName, start.Description = text, text
		start.Terms.Provider, start.Terms.Lender.Name, start.Terms.Authority.Initiator = text, text, text
		start.Student = checkout.Student{FirstName: text, LastName: text, Email: "tāne@" + strings.Repeat("h", 60) + ".example.nz"}
		request, err := b.Processor.Begin(t.Context(), start)
		if err != nil {
			t.Errorf("Begin with the names %q: %v", text, err)
			continue
		}
		b.Visit(t, request.URL)
	}
}

func creditorIsPrintable(t *testing.T, b Bench) {
	checker, ok := b.Processor.(ports.AccountChecker)
	if !ok {
		t.Skip("the operator's terms say who debits")
	}
	for _, account := range []checkout.Account{b.Account, b.Other} {
		if account == (checkout.Account{}) {
			continue
		}
		creditor, err := checker.CheckAccount(t.Context(), account)
		a := creditor.Authority
		if err != nil || creditor.Notice < 0 || a.Calendar != "" || len(a.Conditions) > 0 {
			t.Errorf("CheckAccount(%+v) = %+v, %v; want an authority without calendar and conditions", account, creditor, err)
		}
		for _, said := range []string{a.Initiator, a.AuthorisationCode, a.Statement, a.Form} {
			if fault := text.CheckReadable(said); fault != "" || said != text.Normalize(said) || utf8.RuneCountInString(said) > text.Max {
				t.Errorf("CheckAccount(%+v) says %q, which %s", account, said, cmp.Or(fault, "is too long or not normalized"))
			}
		}
		if a.AuthorisationCode != "" && a.Initiator == "" {
			t.Errorf("CheckAccount(%+v) has the code %s of nobody", account, a.AuthorisationCode)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := checker.CheckAccount(ctx, b.Account); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("CheckAccount of a caller who has gone = %v, want an answer or %v", err, context.Canceled)
	}
}

func unknownBillingRequest(t *testing.T, b Bench) {
	b.begin(t, b.start(t, "a"))
	for _, id := range []string{"no such billing request", "../billing_requests?limit=1", ""} {
		if seen, err := b.ask(t, b.Account, checkout.Setup{Try: 1, BillingRequestID: id, Observation: notBegun}); err == nil {
			t.Errorf("Observe of billing request %q, which was never made: %+v, want an error", id, seen)
		}
	}
}

func endedContext(t *testing.T, b Bench) {
	request := b.begin(t, b.start(t, "a"))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	overdue, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	setup := checkout.Setup{Try: 1, BillingRequestID: request.ID, Observation: notBegun}
	for _, ctx := range []context.Context{cancelled, overdue} {
		_, begun := b.Processor.Begin(ctx, b.start(t, "b"))
		_, observed := b.Processor.Observe(ctx, checkout.SetupQuery{Account: b.Account, Setup: setup})
		for call, err := range map[string]error{"Begin": begun, "Observe": observed, "Ready": b.Processor.Ready(ctx)} {
			if !errors.Is(err, ctx.Err()) && !errors.Is(err, ports.ErrBusy) {
				t.Errorf("%s with a context that has ended: %v, want %v or %v", call, err, ctx.Err(), ports.ErrBusy)
			}
		}
	}
	b.Visit(t, b.begin(t, b.start(t, "b")).URL) // the key is good as ever
}

// together calls f n times at once.
func together(n int, f func(i int)) {
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-begin
			f(i)
		})
	}
	close(begin)
	all.Wait()
}

// cancel asks a processor to end a setup of which this is on record.
func (b Bench) cancel(t *testing.T, id string, onRecord checkout.Observation) error {
	return b.Processor.Cancel(t.Context(), checkout.SetupQuery{Account: b.Account,
		Setup: checkout.Setup{Try: 1, BillingRequestID: id, Observation: onRecord}})
}

// ended reports unless a setup has ended, now and as time passes.
func (b Bench) ended(t *testing.T, id string, last checkout.Observation) {
	t.Helper()
	for range steps {
		if last = b.observe(t, b.Account, id, last); last.Authorisation == checkout.Authorised ||
			last.BillingRequest != checkout.BillingCancelled && !last.Mandate.Dead() {
			t.Fatalf("%+v of a setup that is cancelled, want the billing request cancelled, or the mandate dead", last)
		}
		if !b.pass(t) {
			break
		}
	}
}

func cancelledBefore(t *testing.T, b Bench) {
	for _, visited := range []bool{false, true} {
		request := b.begin(t, b.start(t, map[bool]string{false: "unopened", true: "opened"}[visited]))
		if visited {
			b.Visit(t, request.URL)
		}
		for range 2 {
			if err := b.cancel(t, request.ID, notBegun); err != nil {
				t.Fatalf("Cancel of a setup that waits for the payer: %v", err)
			}
		}
		b.ended(t, request.ID, notBegun)
	}
}

func cancelledAfter(t *testing.T, b Bench) {
	for _, known := range []bool{true, false} { // the record may be behind
		request := b.begin(t, b.start(t, map[bool]string{false: "not seen yet", true: "on record"}[known]))
		b.Complete(t, request.URL)
		seen := b.fulfilled(t, b.Account, request.ID)
		onRecord := notBegun
		if known {
			onRecord = seen
		}
		together(many, func(int) {
			if err := b.cancel(t, request.ID, onRecord); err != nil {
				t.Errorf("Cancel of a completed setup, one of %d at once: %v", many, err)
			}
		})
		b.ended(t, request.ID, seen)
		if err := b.cancel(t, request.ID, b.observe(t, b.Account, request.ID, seen)); err != nil {
			t.Errorf("Cancel of what has ended: %v", err)
		}
	}
}

func cancelledMeanwhile(t *testing.T, b Bench) {
	request := b.begin(t, b.start(t, "a"))
	b.Complete(t, request.URL)
	var err error
	for range steps { // an error says that it cannot be ended yet
		if err = b.cancel(t, request.ID, notBegun); err == nil || !b.pass(t) {
			break
		}
	}
	if err != nil {
		t.Fatalf("Cancel of a setup that the payer has just completed: %v in the end", err)
	}
	b.ended(t, request.ID, notBegun)
}

func cancelOfAnother(t *testing.T, b Bench) {
	mine, theirs := b.begin(t, b.start(t, "mine")), b.begin(t, b.start(t, "theirs"))
	b.Complete(t, theirs.URL)
	before := b.fulfilled(t, b.Account, theirs.ID)
	if err := b.cancel(t, mine.ID, notBegun); err != nil {
		t.Fatal(err)
	}
	if got := b.observe(t, b.Account, theirs.ID, before); got.Mandate.Dead() {
		t.Errorf("the cancel of another setup left %+v", got)
	}
	if err := b.cancel(t, "BR-that-was-never-made", notBegun); err == nil {
		t.Error("Cancel of a billing request that was never made is no error")
	}
}
