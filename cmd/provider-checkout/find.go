package main

import (
	"context"
	"errors"
	"fmt"
	"time"

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

func reasonRecord(line checkout.Today) record {
	return record{
		{"reason", "", string(line.Trouble)},
		{"text", "reason", line.Trouble.Words()},
		{"count", "how many", line.Count},
		{"oldest_at", "oldest", line.Oldest},
		{"worst_provider_code", "worst provider", line.Worst},
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
