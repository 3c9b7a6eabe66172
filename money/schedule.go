package money

// ChargeType is a kind of charge of the schedule.
type ChargeType string

const (
	InitialPayment  ChargeType = "initial_payment"
	Instalment      ChargeType = "instalment"
	FinalInstalment ChargeType = "final_instalment" // the last one, if it differs from the regular one
)

// Label returns the name for people: "Initial payment".
func (t ChargeType) Label() string {
	switch t {
	case InitialPayment:
		return "Initial payment"
	case FinalInstalment:
		return "Final instalment"
	default:
		return "Instalment"
	}
}

// Charge is one planned collection.
type Charge struct {
	Sequence int // from 1, in order of the due dates
	Type     ChargeType
	Due      Date
	Amount   Cents
}

// Schedule lists every charge of a plan in order of its due date. If there is an upfront payment, it is the first charge, on the
// plan's first date, and the instalments start one period later. Otherwise they start on the first date. The charges sum to the
// course price. Every page, document and export takes its planned dates and amounts from here.
//
// The plan must be an accepted plan: its frequency is valid, and it has at least one instalment.
func Schedule(upfront Cents, plan Plan) []Charge {
	charges := make([]Charge, 0, 1+plan.Number)
	add := func(what ChargeType, amount Cents) {
		periods := len(charges) // one charge a period, of any type
		due := plan.First.After(plan.Frequency, periods)
		charges = append(charges, Charge{periods + 1, what, due, amount})
	}
	if upfront > 0 {
		add(InitialPayment, upfront)
	}
	for range plan.Number - 1 {
		add(Instalment, plan.Regular)
	}
	last := Instalment
	if plan.Residual() {
		last = FinalInstalment
	}
	add(last, plan.Final)
	return charges
}
