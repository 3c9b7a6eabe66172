package desk

import (
	"fmt"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// today shows what needs a hand. Where nothing does, the page says so.
func (v *visit) today() error {
	var content struct {
		Troubles  []checkout.Today
		Approvals int
	}
	counts, err := v.Store.Troubles(v.r.Context(), v.Now())
	if err != nil {
		return err
	}
	content.Troubles = checkout.Summarise(counts)
	waiting, err := v.operator.Approvals(v.r.Context())
	if err != nil {
		return err
	}
	for _, a := range waiting {
		if v.decider(a) != "" {
			content.Approvals++
		}
	}
	return v.page("today.html", "Today", content)
}

// count returns a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
