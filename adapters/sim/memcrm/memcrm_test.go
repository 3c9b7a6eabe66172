package memcrm_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/crmtest"
	"github.com/provider-checkout/provider-checkout/adapters/sim/memcrm"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

var errLost = errors.New("the answer is lost")

func TestCRM(t *testing.T) {
	crmtest.Run(t, func(*testing.T) *crmtest.Bench {
		c := memcrm.New(catalogue.Sandbox)
		return &crmtest.Bench{CRM: c,
			Delete: func(_ testing.TB, of checkout.Checkout) { c.Delete(of) },
			Stored: func(_ testing.TB, of checkout.Checkout) crmtest.Stored { return stored(c.Record(of)) },
			Trouble: func(of func(int) crmtest.Trouble) {
				var suffered crmtest.Trouble
				c.Fail(func(checkout.Enrolment) error {
					switch suffered = of(0); suffered {
					case crmtest.LostBefore:
						return errLost
					case crmtest.Refused:
						return &checkout.CRMRefusal{Code: "REFUSED"}
					case crmtest.Busy:
						return ports.ErrBusy
					}
					return nil
				}, func(checkout.Enrolment) error {
					if suffered == crmtest.LostAfter {
						return errLost
					}
					return nil
				})
			}}
	})
}

func stored(r memcrm.Record) (s crmtest.Stored) {
	if r.Stages == nil {
		return s
	}
	c := r.Checkout
	s = crmtest.Stored{Contacts: 1, Enrolments: 1, Authorities: 1, Stages: r.Stages, LastName: c.Student.LastName,
		CourseName: c.Intent.CourseName, FirstPayment: c.FirstPayment().String(), Mandate: c.Setup.Mandate, End: string(c.End.By)}
	if r.Agreement != nil {
		s.Agreements, s.Number = 1, r.Agreement.Number
		var days []string
		for _, p := range r.Agreement.Payments() {
			days = append(days, p.Due.String(), p.Taken.String())
		}
		s.Facts = strings.Join(days, " ")
	}
	if r.Document != nil {
		s.Documents, s.Document = 1, r.Document.Bytes
	}
	return s
}
