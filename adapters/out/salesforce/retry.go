package salesforce

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
)

// Retry is the reason for a retry.
type Retry string

// The kinds of Retry, as a metric names them.
const (
	RetryLostAnswer     Retry = "lost_answer"     // no answer, or no readable answer: the outcome is unknown
	RetryServerError    Retry = "server_error"    // an answer of 500 or above, or 408
	RetryLimit          Retry = "limit"           // too many calls at once
	RetryLockedRow      Retry = "locked_row"      // another client is changing a record
	RetryDuplicateValue Retry = "duplicate_value" // another client was quicker to make a record, or a change, which is then found
	RetryExpiredToken   Retry = "expired_token"   // the call is sent again with a new token
)

// repeatedly does something until it succeeds, is refused, or has been tried often enough. What it does must begin with
// a look at what there is: an attempt may have taken effect though it failed.
func repeatedly[T any](ctx context.Context, c *CRM, do func() (T, error)) (T, error) {
	for attempt := 1; ; attempt++ {
		result, err := do()
		if err == nil {
			return result, nil
		}
		if ctx.Err() != nil {
			return result, ended(ctx, err)
		}
		kind, again := retry(err)
		if attempt == maxAttempts || !again {
			return result, err
		}
		wait := outbound.Jitter(c.options.Rand, firstPause<<(attempt-1))
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait || !c.pause(ctx, wait) {
			return result, ended(ctx, err)
		}
		c.options.Retried(kind)
	}
}

// retry reports whether what failed may succeed at once, and why it failed.
func retry(err error) (kind Retry, again bool) {
	var lost *outbound.Lost
	var refused *apiError
	switch {
	case errors.As(err, &lost):
		return RetryLostAnswer, true
	case errors.As(err, &refused):
		return refused.retry()
	}
	return "", false
}

// retry reports whether the same call may succeed at once, or finds then what another has made.
func (e *apiError) retry() (kind Retry, again bool) {
	switch {
	case e.has(codeLockedRow):
		return RetryLockedRow, true
	case e.has(codeDuplicateValue), e.has(codeHalted): // by another part that says why, or by a condition
		return RetryDuplicateValue, true
	case e.usedUp():
		return "", false // until the day is over
	case e.has(codeRequestLimit), e.status == http.StatusTooManyRequests:
		return RetryLimit, true
	case e.status >= 500, e.status == http.StatusRequestTimeout:
		return RetryServerError, true
	}
	return "", false
}

// ended adds to an error that ctx has ended, unless it says so.
func ended(ctx context.Context, err error) error {
	if errors.Is(err, ctx.Err()) {
		return err
	}
	return errors.Join(err, ctx.Err())
}
