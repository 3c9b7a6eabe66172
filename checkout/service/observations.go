package service

import (
	"context"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/bounded"
)

// observationLife is the lifetime of a cached answer of the processor.
const observationLife = 2 * time.Second

// observations keeps what the processor said lately to callers of one kind. However many of them ask about a billing
// request, at once or one after another, the processor is asked at most once in observationLife, whether it answers
// or fails.
type observations struct {
	asking locks // by billing request
	latest *cache[string, observed]
}

// observed is an answer of the processor, or the error in its place.
type observed struct {
	seen checkout.Observation
	kept checkout.Setback // for the page only
	err  error
}

func newObservations() *observations {
	return &observations{latest: newCache[string, observed](observationLife)}
}

// get returns the answer about a billing request that is fresh, or else asks. A caller that hangs up does not end the
// call, because others wait for its answer.
func (o *observations) get(ctx context.Context, now func() time.Time, billingRequest string,
	ask func(context.Context) observed) observed {
	unlock, err := o.asking.lock(ctx, billingRequest)
	if err != nil {
		return observed{err: err}
	}
	defer unlock()
	answer, ok := o.latest.fresh(now(), billingRequest)
	if !ok {
		answer = ask(context.WithoutCancel(ctx))
		o.latest.put(now(), billingRequest, answer)
	}
	return answer
}

// forget has the next caller ask about a billing request.
func (o *observations) forget(billingRequest string) { o.latest.values.Delete(billingRequest) }

// put keeps an answer that was given to another kind of caller.
func (o *observations) put(now time.Time, billingRequest string, seen checkout.Observation) {
	o.latest.put(now, billingRequest, observed{seen: seen})
}

// notifiedAnswers keeps when the setup of each notification's subject was asked about last, and whether it was settling.
type notifiedAnswers struct {
	asking  locks // by subject
	answers *bounded.Map[string, notifiedAnswer]
}

type notifiedAnswer struct {
	asked    time.Time
	settling bool
}

// since returns the answer about a subject that was asked at a time or later; ok is false without such an answer.
func (n *notifiedAnswers) since(subject string, after time.Time) (settling, ok bool) {
	a, ok := n.answers.Get(subject)
	return a.settling, ok && !a.asked.Before(after)
}
