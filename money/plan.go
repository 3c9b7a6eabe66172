package money

import "errors"

// Frequency is how often an instalment falls due, in the contract's words.
type Frequency string

const (
	Weekly      Frequency = "Weekly"
	Fortnightly Frequency = "Fortnightly"
	Monthly     Frequency = "Monthly"
)

// Valid tells whether f is one of the three frequencies.
func (f Frequency) Valid() bool { return f == Weekly || f == Fortnightly || f == Monthly }

// MaxInstalments is the largest number of instalments of one plan.
const MaxInstalments = 600

// What ByNumber and ByAmount say of a plan that cannot be.
var (
	ErrNoPrincipal  = errors.New("the amount to finance must be above zero")
	ErrNumber       = errors.New("the number of instalments must be from 1 to 600")
	ErrAmount       = errors.New("the instalment amount must be above zero")
	ErrUnderOneCent = errors.New("each instalment must be at least one cent")
)

// Instalments are the equal parts of a principal. All but the last are Regular;
// the last is Final, which equals Regular where the principal divides evenly.
// (Number − 1) × Regular + Final is the principal, to the cent.
type Instalments struct {
	Number  int
	Regular Cents
	Final   Cents
}

// ByNumber divides principal into n instalments: the regular one rounded down
// to the cent, the rest in the last, so that the last is never smaller and at
// most n − 1 cents larger.
func ByNumber(principal Cents, n int) (Instalments, error) { panic("todo") }

// ByAmount divides principal into instalments of regular, with the rest in the
// last, which is never larger. A principal that regular covers at once is one
// instalment of the principal.
func ByAmount(principal, regular Cents) (Instalments, error) { panic("todo") }

// Principal returns what the instalments sum to.
func (i Instalments) Principal() Cents { return Cents(i.Number-1)*i.Regular + i.Final }

// Residual tells whether the last instalment differs from the regular one.
func (i Instalments) Residual() bool { return i.Final != i.Regular }

// Pricing is what a course costs: Price = Upfront + Principal, and nothing
// else, for there is no interest.
type Pricing struct {
	Price     Cents
	Upfront   Cents // initial payment; 0 where there is none
	Principal Cents // amount to finance
}

// Plan is a payment plan: how often, how many, how much, and from when.
type Plan struct {
	Frequency Frequency
	Instalments
	First Date // first payment date, a New Zealand date
}
