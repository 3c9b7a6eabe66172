package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
)

// maxHits is the largest number of checkouts that are listed.
const maxHits = 1000

// find prints a line for each checkout that a text names.
func find(c *call) action {
	c.listFlags()
	provider := c.flags.String("provider", "", "only those of the provider `CODE`")
	return c.onRecords(func(ctx context.Context, db records) error {
		var rows []record
		query, after := checkout.Query{Text: c.Args[0], ProviderCode: *provider}, ""
		if query.Words() == "" {
			return cli.UsageError("QUERY is empty")
		}
		for more := true; more && len(rows) < maxHits; more = after != "" {
			page, err := db.Find(ctx, query, after, checkout.MaxPage)
			if err != nil {
				return err
			}
			for _, h := range page.Hits {
				rows = append(rows, hitRecord(h))
			}
			after = page.Next
		}
		if len(rows) == 0 {
			return errors.New("nothing has this id, address or beginning of a name")
		}
		if after != "" {
			fmt.Fprintf(c.Stderr, "there are more: these are the first %d\n", len(rows))
		}
		return c.table(rows, "created", "provider", "order", "student", "course", "state", "checkout")
	})
}

func hitRecord(h checkout.Hit) record {
	return append(checkoutRecord(h.Checkout), field{"created_at", "created", h.Checkout.CreatedAt}, field{"found_by", "", h.By})
}

// today prints a line for each trouble that needs a hand.
func today(c *call) action {
	c.listFlags()
	return c.onRecords(func(ctx context.Context, db records) error {
		counts, err := db.Troubles(ctx, time.Now())
		if err != nil {
			return err
		}
		var rows []record
		for _, line := range checkout.Summarise(counts) {
			rows = append(rows, record{
				{"reason", "", string(line.Trouble)},
				{"text", "reason", line.Trouble.Words()},
				{"count", "how many", line.Count},
				{"oldest_at", "oldest", line.Oldest},
				{"worst_provider_code", "worst provider", line.Worst},
			})
		}
		if len(rows) == 0 && !c.json {
			_, err = fmt.Fprintln(c.Stdout, "nothing needs a hand")
			return err
		}
		return c.table(rows, "reason", "how many", "oldest", "worst provider")
	})
}

// funnelWeeks is the number of weeks that the funnel shows where no day is given.
const funnelWeeks = 4

// funnel prints, by provider and week, how many checkouts came how far.
func funnel(c *call) action {
	c.listFlags()
	var from, to time.Time
	cli.Var(c.flags, &from, "from", "", parseDay, fmt.Sprintf("first `DAY`, such as 2026-11-02 (UTC; default %d weeks ago)", funnelWeeks))
	cli.Var(c.flags, &to, "to", "", parseDay, "last `DAY` (default today)")
	provider := c.flags.String("provider", "", "only those of the provider `CODE`")
	return c.onRecords(func(ctx context.Context, db records) error {
		if to.IsZero() {
			to = time.Now().UTC()
		}
		if from.IsZero() {
			from = to.AddDate(0, 0, -7*funnelWeeks)
		}
		days, err := db.Funnel(ctx, from, to.AddDate(0, 0, 1), *provider)
		if err != nil {
			return err
		}
		var rows []record
		for _, w := range checkout.Weeks(days) {
			rows = append(rows, record{
				{"week", "week", w.Day},
				{"provider_code", "provider", w.ProviderCode},
				{"created", "created", w.Created},
				{"opened", "opened", w.Opened},
				{"pressed", "pressed", w.Pressed},
				{"bank_done", "bank done", w.SetUp},
				{"confirmed", "confirmed", w.Confirmed},
			})
		}
		return c.table(rows, "week", "provider", "created", "opened", "pressed", "bank done", "confirmed")
	})
}

func parseDay(text string) (time.Time, error) {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return day, errors.New("must be a day such as 2026-11-02")
	}
	return day, nil
}
