package checkout_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// What a catalogue resolves, sent as a provider without a catalogue would send it, is accepted and
// means the same.
func TestResolveThenValidateIsTheIdentity(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		price := money.Cents(rapid.Int64Range(2, int64(money.Max)).Draw(r, "price"))
		upfront := money.Cents(rapid.Int64Range(0, int64(price)-1).Draw(r, "upfront"))
		option := catalogue.Option{Frequency: rapid.SampledFrom([]money.Frequency{money.Weekly, money.Fortnightly, money.Monthly}).Draw(r, "frequency")}
		if rapid.Bool().Draw(r, "by number") {
			option.Number = rapid.IntRange(1, money.MaxInstalments).Draw(r, "number")
		} else {
			option.Amount = money.Cents(rapid.Int64Range(1, int64(price)).Draw(r, "amount"))
		}
		course := catalogue.Course{Code: "NZDIP", Name: "Diploma", Price: price, Upfront: upfront, Active: true,
			Environment: catalogue.Sandbox, Options: []catalogue.Option{option}}
		cmd := weekly
		cmd.Frequency = checkout.Some(string(option.Frequency))
		resolved, err := resolve(cmd, &course)
		if err != nil {
			return // a plan that no provider file may hold
		}
		sent := cmd
		sent.CourseCode = checkout.Optional[string]{}
		sent.CourseName = checkout.Some(resolved.CourseName)
		sent.Price, sent.Upfront = checkout.Some(resolved.Pricing.Price), checkout.Some(resolved.Pricing.Upfront)
		sent.Principal = checkout.Some(resolved.Pricing.Principal)
		sent.PaymentType = checkout.Some(checkout.PaymentType)
		sent.Number, sent.Regular = checkout.Some(resolved.Plan.Number), checkout.Some(resolved.Plan.Regular)
		if resolved.Plan.Residual() {
			sent.Final = checkout.Some(resolved.Plan.Final)
		}
		if err := sent.Check(catalogue.Legacy); err != nil {
			r.Fatalf("resolved %+v, refused: %v", resolved, err)
		}
		if got := intentOf(r, sent); got != resolved {
			r.Fatalf("resolved %+v\nmeans    %+v", resolved, got)
		}
	})
}
