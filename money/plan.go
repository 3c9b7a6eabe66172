package money

import "errors"

// Frequency is the interval between instalments, in the contract's words.
type Frequency string

const (
	Weekly      Frequency = "Weekly"
	Fortnightly Frequency = "Fortnightly"
	Monthly     Frequency = "Monthly"
)

// Valid reports whether f is one of the three frequencies.
func (f Frequency) Valid() bool { return f == Weekly || f == Fortnightly || f == Monthly }

// Period returns the words after an amount: "a week".
func (f Frequency) Period() string {
	return map[Frequency]string{Weekly: "a week", Fortnightly: "every two weeks", Monthly: "a month"}[f]
}

// MaxInstalments is the largest number of instalments of one plan.
const MaxInstalments = 600

// The errors of ByNumber and ByAmount for a plan that is impossible.
var (
	ErrNoPrincipal  = errors.New("the amount to finance must be above zero")
	ErrNumber       = errors.New("the number of instalments must be from 1 to 600")
	ErrAmount       = errors.New("the instalment amount must be above zero")
	ErrUnderOneCent = errors.New("each instalment must be at least one cent")
)

// Instalments are the equal parts of a principal. All but the last are Regular;
// the last is Final, which equals Regular if the principal divides evenly.
// (Number − 1) × Regular + Final is the principal, to the cent.
type Instalments struct {
	Number  int
	Regular Cents
	Final   Cents
}

// ByNumber divides principal into n instalments: the regular one rounded down
// to the cent, the rest in the last, so that the last is never smaller and at
// most n − 1 cents larger.
//
// The errors are ErrNoPrincipal, ErrNumber and ErrUnderOneCent.
func ByNumber(principal Cents, n int) (Instalments, error) {
	switch {
	case principal <= 0:
		return Instalments{}, ErrNoPrincipal
	case n < 1 || n > MaxInstalments:
		return Instalments{}, ErrNumber
	case principal < Cents(n):
		return Instalments{}, ErrUnderOneCent
	}
	regular := principal / Cents(n)
	return Instalments{n, regular, regular + principal%Cents(n)}, nil
}

// ByAmount divides principal into instalments of regular, with the rest in the
// last, which is never larger. A principal that regular covers at once is one
// instalment of the principal.
//
// The errors are ErrNoPrincipal, ErrAmount and, above MaxInstalments, ErrNumber.
func ByAmount(principal, regular Cents) (Instalments, error) {
	switch {
	case principal <= 0:
		return Instalments{}, ErrNoPrincipal
	case regular <= 0:
		return Instalments{}, ErrAmount
	}
	regular = min(regular, principal)
	n := (principal-1)/regular + 1 // rounded up
	if n > MaxInstalments {
		return Instalments{}, ErrNumber
	}
	return Instalments{int(n), regular, principal - (n-1)*regular}, nil
}

// Principal returns the sum of the instalments. It does not overflow while Number is at most
// MaxInstalments and both amounts at most Max.
func (i Instalments) Principal() Cents { return Cents(i.Number-1)*i.Regular + i.Final }

// Residual reports whether the last instalment differs from the regular one.
func (i Instalments) Residual() bool { return i.Final != i.Regular }

// Pricing is the cost of a course: Price = Upfront + Principal. There is no
// interest.
type Pricing struct {
	Price     Cents
	Upfront   Cents // initial payment; 0 without an initial payment
	Principal Cents // amount to finance
}

// Plan is a payment plan: how often, how many, how much, and from when.
type Plan struct {
	Frequency Frequency
	Instalments
	First Date // first payment date, a New Zealand date
}
