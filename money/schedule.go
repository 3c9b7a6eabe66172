package money

// ChargeType says what a charge of the schedule is.
type ChargeType string

const (
	InitialPayment  ChargeType = "initial_payment"
	Instalment      ChargeType = "instalment"
	FinalInstalment ChargeType = "final_instalment" // the last, where it differs from the regular one
)

// Charge is one planned collection.
type Charge struct {
	Sequence int // from 1, in order of the due dates
	Type     ChargeType
	Due      Date
	Amount   Cents
}

// Schedule lists every charge of a plan in order of its due date. With an upfront payment
// the first charge is that payment on the plan's first date, and the instalments follow from
// one period later; without one the instalments start on the first date. The charges sum to
// the course price. It is the one source of dates and amounts for whoever shows,
// prints or collects a plan.
func Schedule(upfront Cents, plan Plan) []Charge { panic("todo") }
