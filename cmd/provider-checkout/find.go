package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/jsonlines"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// maxHits is the largest number of checkouts that are listed.
const maxHits = 1000

// find prints a line for each checkout that a text names.
type find struct {
	ListFlags
	Query    string `arg:""`
	Provider string `placeholder:"CODE" help:"only those of the provider"`
}

func (f *find) Run(ctx context.Context, c *call, db reader) error {
	query := checkout.Query{Text: f.Query, ProviderCode: f.Provider}
	if query.Words() == "" {
		return usageError("QUERY is empty")
	}
	hits, err := db.Find(ctx, query, maxHits+1)
	if err != nil {
		return err
	}
	if len(hits) == 0 {
		return errors.New("nothing has this id, address or beginning of a family name")
	}
	return table(c, first(c, maxHits, hits), func(h checkout.Hit) record {
		return append(checkoutRecord(h.Checkout), field{"created_at", "created", h.Checkout.CreatedAt})
	}, "created", "provider", "order", "student", "course", "state", "checkout")
}

// today prints a line for each trouble that needs a hand, and one for each checkout of which the CRM or the processor takes no call.
type today struct{ ListFlags }

func (*today) Run(ctx context.Context, c *call, db reader) error {
	now := time.Now()
	counts, err := db.Troubles(ctx, now)
	if err != nil {
		return err
	}
	waiting, err := db.Find(ctx, checkout.Query{Trouble: checkout.TroubleCRM, Now: now}, maxHits)
	if err != nil {
		return err
	}
	reasons := checkout.Summarise(counts)
	if len(reasons) == 0 && !c.json {
		_, err = fmt.Fprintln(c.Stdout, "nothing needs a hand")
		return err
	}
	err = table(c, reasons, reasonRecord, "reason", "how many", "oldest", "worst provider")
	if err != nil || len(waiting) == 0 {
		return err
	}
	return table(c, waiting, waitingRecord, "first payment", "provider", "checkout", "refusal")
}

func reasonRecord(line checkout.TroubleCount) record {
	return record{
		{"reason", "", string(line.Trouble)},
		{"text", "reason", line.Trouble.Words()},
		{"count", "how many", line.Count},
		{"oldest_at", "oldest", line.Oldest},
		{"worst_provider_code", "worst provider", line.ProviderCode},
	}
}

func waitingRecord(h checkout.Hit) record {
	return record{
		{"first_payment_date", "first payment", h.Checkout.FirstPayment().String()},
		{"provider_code", "provider", h.Checkout.ProviderCode},
		{"checkout_id", "checkout", h.Checkout.ID},
		{"failure", "refusal", h.Reason},
	}
}

// maxShown is the largest number of checkouts that are shown.
const maxShown = 20

// show prints the state, the timeline and the jobs of the checkouts that an id names: of one, unless several providers have the order.
type show struct {
	ListFlags
	ID string `arg:""`
}

func (f *show) Run(ctx context.Context, c *call, db reader) error {
	list, err := db.Find(ctx, checkout.Query{Text: f.ID}, maxShown)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return errors.New(`no checkout has this id; "find" also knows names and addresses`)
	}
	for i, found := range list {
		if i > 0 && !c.json {
			fmt.Fprintln(c.Stdout)
		}
		if err := c.showOne(ctx, db, found.Checkout); err != nil {
			return err
		}
	}
	return nil
}

// showOne prints a checkout: its state, its timeline and its jobs, or with --json the timeline alone.
func (c *call) showOne(ctx context.Context, db records, found checkout.Checkout) error {
	moments, err := db.Moments(ctx, found.ID)
	if err != nil {
		return err
	}
	moments = found.Timeline(moments)
	if c.json {
		for _, m := range moments {
			if err := jsonlines.Write(c.Stdout, momentObject(m)); err != nil {
				return err
			}
		}
		return nil
	}
	jobs, err := db.Jobs(ctx, checkout.JobFilter{CheckoutID: found.ID}, maxJobs)
	if err != nil {
		return err
	}
	slices.Reverse(jobs)
	if err := c.print(append(checkoutRecord(found), field{"", "e-mail", found.Student.MaskedEmail()})); err != nil {
		return err
	}
	fmt.Fprintln(c.Stdout)
	if err := table(c, moments, momentRecord, "at", "kind", "actor", "detail", "request", "times"); err != nil || len(jobs) == 0 {
		return err
	}
	fmt.Fprintln(c.Stdout)
	return table(c, jobs, jobRecord, "job", "kind", "state", "since", "attempts", "due", "reason")
}

func checkoutRecord(c checkout.Checkout) record {
	return record{
		{"checkout_id", "checkout", c.ID},
		{"provider_code", "provider", c.ProviderCode},
		{"provider_order_id", "order", c.OrderID},
		{"student", "student", c.Student.Name()},
		{"state", "state", state(c, time.Now())},
		{"ended_at", "", c.End.At},
		{"end_reason", "reason", c.End.Reason},
		{"course_name", "course", c.Intent.CourseName},
		{"agreement_number", "agreement", c.Confirmation.AgreementNumber},
		{"billing_request_id", "billing request", c.Setup.BillingRequestID},
		{"mandate_id", "", c.Setup.MandateID},
		{"mandate_status", "", string(c.Setup.Mandate)},
		{"mandate_reason", "", c.Setup.MandateReason},
		{"", "mandate", strings.TrimSpace(c.Setup.MandateID + " " + string(c.Setup.Mandate) + " " + c.Setup.MandateReason)},
	}
}

func momentRecord(m checkout.Moment) record {
	times := ""
	if m.Times > 1 {
		times = fmt.Sprint("×", m.Times)
	}
	return record{
		{"", "at", m.At},
		{"", "kind", string(m.Kind)},
		{"", "actor", string(m.Actor)},
		{"", "request", m.RequestID},
		{"", "detail", m.Detail},
		{"", "times", times},
	}
}

// momentObject returns a moment as scripts read it, with every field. A moment that was counted several times says so.
func momentObject(m checkout.Moment) jsonlines.Object {
	o := jsonlines.Object{jsonlines.Put("at", m.At), jsonlines.Put("kind", string(m.Kind)), jsonlines.Put("actor", string(m.Actor)),
		jsonlines.Put("request_id", m.RequestID), jsonlines.Put("detail", m.Detail)}
	if m.Times > 1 {
		o = append(o, jsonlines.Put("times", m.Times))
	}
	return o
}

// state returns the state of a checkout in words, with what an operator needs to know of it.
func state(c checkout.Checkout, now time.Time) string {
	words := c.Words(time.Time{})
	switch {
	case c.Withdrawn():
		words += ", ground " + string(c.End.Ground)
	case c.Status == checkout.Confirmed && c.Setup.Mandate.Dead():
		words += ": " + string(c.Setup.Mandate)
	case c.Words(now) != words:
		words += "; the setup link expired on " + formatTime(c.Newest().Expires) + ", and the provider's next create of the order renews it"
	}
	if c.ToEnd() {
		words += "; the processor has yet to cancel the direct debit"
	}
	return words
}
