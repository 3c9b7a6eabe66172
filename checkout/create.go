package checkout

import "github.com/provider-checkout/provider-checkout/money"

// Given is a value that a request may leave out.
type Given[T any] struct {
	Value T
	OK    bool
}

// Give returns a value that was given.
func Give[T any](v T) Given[T] { return Given[T]{v, true} }

// Create is the command to open a checkout (section 2.1). Text is in Unicode NFC and trimmed
// where it is a name; identifiers are as they came.
type Create struct {
	RequestID      string
	IdempotencyKey Given[string] // the header

	ProviderCode Given[string]
	OrderID      Given[string]

	FirstName Given[string]
	LastName  Given[string]
	Email     Given[string]

	CourseCode Given[string]
	CourseName Given[string]

	Price     Given[money.Cents]
	Principal Given[money.Cents] // amount_to_finance
	Upfront   Given[money.Cents]

	PaymentType Given[string]
	Frequency   Given[string]
	Number      Given[int]
	Regular     Given[money.Cents]
	Final       Given[money.Cents]
	First       Given[money.Date]

	// Unread are the fields that the edge could not read as what they must be. They are
	// reported with the faults that are found here, and not as missing.
	Unread []Fault
}
