package scenario

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
)

// clockMoves is the entry of a clock that was moved.
const clockMoves Scenario = "clock"

const (
	day = 24 * time.Hour
	// farthest is the longest time by which a clock is ahead: it outlasts a plan of two years, and what is kept for seven years
	// after.
	farthest = 9 * 365 * day
)

// Ahead returns the time by which the clock of a checkout is ahead, for service.Config and fakeprocessor.Options. Where that
// cannot be read it is 0: the store fails for the call too.
func Ahead(records Records) func(context.Context, checkout.About) time.Duration {
	return func(ctx context.Context, of checkout.About) time.Duration {
		// A call that knows the script since it began asks once more for what it decides: the clock may have been moved since.
		script, err := scripts{records: records}.readNow(ctx, of.ProviderCode, of.OrderID)
		if err != nil {
			return 0
		}
		return script.ahead()
	}
}

// keptClock begins the name of the record that the erasure of a script leaves: the time by which the clock is ahead, which never goes
// back.
const keptClock = "clock/"

// keepClocks keeps the clocks of scripts that are to be erased, by their keys.
func (s scripts) keepClocks(ctx context.Context, keys []string) error {
	for _, key := range keys {
		entries, kept, err := s.stored(ctx, key)
		if sum := (script{entries: entries, kept: kept}).ahead(); err == nil && sum > 0 {
			err = s.records.KeepSandboxRecord(ctx, keptClock+key, fmt.Appendf(nil, `{"advance": %d}`, sum))
		}
		if err != nil {
			return fmt.Errorf("keep a clock: %w", err)
		}
	}
	return nil
}

// Eraser returns the eraser of the setups of checkouts that a processor keeps, and of their scripts.
func Eraser(p ports.Processor, records Records) ports.SetupEraser {
	return processor{p, scripts{records: records}}
}

// ahead returns the sum of what the clock was moved by, farthest at most: moves at once do not know of each other. A clock never
// goes back: a move that an editor of the table has made negative counts for nothing, and the checkout goes on. What an erasure kept has
// the moves that it erases in it.
func (s script) ahead() (sum time.Duration) {
	for _, e := range s.entries {
		sum = min(sum+min(max(e.Advance, 0), farthest), farthest)
	}
	return max(sum, min(s.kept, farthest))
}

// duration is a duration of ISO 8601 without years and months, whose lengths vary.
var duration = regexp.MustCompile(`^P(?:(\d{1,6})W)?(?:(\d{1,6})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,6})S)?)?$`)

// parseDuration returns the duration that a text has; 0 for any other text.
func parseDuration(text string) (sum time.Duration) {
	parts := duration.FindStringSubmatch(text)
	if parts == nil || text[len(text)-1] == 'T' {
		return 0
	}
	for i, unit := range []time.Duration{7 * day, day, time.Hour, time.Minute, time.Second} {
		if n, _ := strconv.Atoi(parts[i+1]); time.Duration(n) <= farthest/unit {
			sum += time.Duration(n) * unit
		} else {
			sum += farthest + unit
		}
	}
	return sum
}

// advanceCalled moves the clock by what a call says.
func (d *Director) advanceCalled(ctx context.Context, c checkout.Checkout, body map[string]string) error {
	by := parseDuration(body["advance"])
	if by <= 0 {
		return malformed(checkout.Fault{Field: "advance",
			Message: "must be a duration of ISO 8601 in weeks, days, hours, minutes and seconds, such as P7D or PT90M"})
	}
	return d.advance(ctx, c, entry{Advance: by})
}

// advance moves the clock of a checkout forward, and has done what is due then.
func (d *Director) advance(ctx context.Context, c checkout.Checkout, e entry) error {
	if d.ahead(ctx, c.About())+e.Advance > farthest {
		return malformed(checkout.Fault{Field: "advance",
			Message: "must not move the clock of the checkout further ahead than nine years (3285 days) in all"})
	}
	e.Scenario = clockMoves
	if err := d.scripts.add(ctx, c, e); err != nil {
		return err
	}
	ctx, _ = service.WithSubject(ctx)
	if _, err := d.svc.Refresh(ctx, c.ID); err != nil {
		return err
	}
	return d.svc.Retain(ctx, c.About())
}
