package apiclient

import "encoding/json"

// CreateRequest is the body of a create for a course of the provider's catalogue.
type CreateRequest struct {
	Provider Order   `json:"provider"`
	Student  Student `json:"student"`
	Course   Course  `json:"course"`
	Plan     Plan    `json:"plan"`
}

// Order names an order of a provider.
type Order struct {
	ProviderCode string `json:"provider_code"`
	OrderID      string `json:"provider_order_id"`
}

// Student is the student who enrols.
type Student struct {
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Email     string `json:"email"`
}

// Course names a course of the catalogue.
type Course struct {
	Code string `json:"course_code"`
}

// Plan is the student's choice among the course's plans.
type Plan struct {
	Frequency    string `json:"payment_frequency"`
	FirstPayment string `json:"first_payment_date"`
}

// String returns the JSON text.
func (r CreateRequest) String() string { return encode(r) }

// ConfirmRequest is the body of a confirm.
type ConfirmRequest struct {
	Provider     Order           `json:"provider"`
	Checkout     Checkout        `json:"checkout"`
	Payment      Payment         `json:"payment"`
	Declarations map[string]bool `json:"declarations"` // by the name of the field
}

// Checkout names a checkout by all identifiers in the response to its create.
type Checkout struct {
	ID            string `json:"checkout_id"`
	Token         string `json:"checkout_token"`
	OpportunityID string `json:"opportunity_id"`
	DDAID         string `json:"dda_id"`
}

// Payment is the plan to which the student agrees.
type Payment struct {
	Method           string `json:"payment_method"`
	FirstPayment     string `json:"first_payment_date"`
	DepositConfirmed bool   `json:"deposit_confirmed"`
}

// String returns the JSON text.
func (r ConfirmRequest) String() string { return encode(r) }

// encode returns the JSON text of a request.
func encode(request any) string {
	text, err := json.Marshal(request)
	if err != nil {
		panic(err) // strings and booleans always marshal
	}
	return string(text)
}
