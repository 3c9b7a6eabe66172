package bench_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// listQuestions returns what the programs of providers list.
func listQuestions(db ports.Lists) []question {
	listing := func(r *rand.Rand) string { return fmt.Sprintf("P%02d", 10+r.IntN(deskRead)) }
	return []question{
		{"a provider's events", func(ctx context.Context, r *rand.Rand) (int, error) {
			list, err := db.Events(ctx, checkout.ListQuery{ProviderCode: listing(r), After: anyCursor(r), Limit: checkout.MaxPage})
			return len(list), err
		}},
		{"a provider's enrolments", func(ctx context.Context, r *rand.Rand) (int, error) {
			list, err := db.Enrolments(ctx, checkout.ListQuery{ProviderCode: listing(r), After: anyCursor(r), Limit: checkout.MaxPage})
			return len(list), err
		}},
		{"events read for the first time", unread(db.Events, func(e checkout.ListedEvent) checkout.Cursor { return e.Cursor })},
		{"enrolments read for the first time",
			unread(db.Enrolments, func(e checkout.ListedEnrolment) checkout.Cursor { return e.Cursor })},
	}
}

// anyCursor returns a place in the lists.
func anyCursor(r *rand.Rand) checkout.Cursor {
	return checkout.CursorAt(time.Now().Add(-time.Duration(r.Int64N(deskDays)) * 24 * time.Hour))
}

// unread reads the lists that nobody has read, page by page.
func unread[T any](list func(context.Context, checkout.ListQuery) ([]T, error),
	cursor func(T) checkout.Cursor) func(context.Context, *rand.Rand) (int, error) {
	n, after := deskRead, checkout.Cursor(0)
	return func(ctx context.Context, _ *rand.Rand) (int, error) {
		page, err := list(ctx, checkout.ListQuery{ProviderCode: fmt.Sprintf("P%02d", 10+n), After: after, Limit: checkout.MaxPage})
		if len(page) < checkout.MaxPage {
			n, after = n+1, 0
		} else {
			after = cursor(page[len(page)-1])
		}
		return len(page), err
	}
}
