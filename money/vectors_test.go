package money_test

import "github.com/provider-checkout/provider-checkout/money"

// amountVectors is testdata/amounts.json.
type amountVectors struct {
	Description string `json:"description"`
	Cases       []struct {
		Name    string      `json:"name"`
		Text    string      `json:"text"`
		Cents   money.Cents `json:"cents"`
		Written string      `json:"written"`
		Fault   string      `json:"fault"`
	} `json:"cases"`
}

// instalmentVectors is testdata/instalments.json.
type instalmentVectors struct {
	Description string           `json:"description"`
	ByNumber    []instalmentCase `json:"by_number"`
	ByAmount    []instalmentCase `json:"by_amount"`
	Invalid     []instalmentCase `json:"invalid"`
}

type instalmentCase struct {
	Name      string       `json:"name"`
	Method    string       `json:"method"` // of an invalid one: "by_number" or "by_amount"
	Principal money.Cents  `json:"principal_cents"`
	Number    int          `json:"number"`
	Amount    *money.Cents `json:"amount_cents"` // only where the plan is by amount
	Regular   money.Cents  `json:"regular_cents"`
	Final     money.Cents  `json:"final_cents"`
	Fault     string       `json:"fault"`
}

// divide divides the case's principal the way that the case asks for.
func (c instalmentCase) divide() (money.Instalments, error) {
	if c.Method == "by_amount" || c.Method == "" && c.Amount != nil {
		return money.ByAmount(c.Principal, *c.Amount)
	}
	return money.ByNumber(c.Principal, c.Number)
}

// scheduleVectors is testdata/schedules.json.
type scheduleVectors struct {
	Description string `json:"description"`
	Cases       []struct {
		Name      string          `json:"name"`
		Upfront   money.Cents     `json:"upfront_cents"`
		Frequency money.Frequency `json:"frequency"`
		First     string          `json:"first_payment_date"`
		Number    int             `json:"number"`
		Regular   money.Cents     `json:"regular_cents"`
		Final     money.Cents     `json:"final_cents"`
		Price     money.Cents     `json:"price_cents"`
		Charges   []struct {
			Sequence int              `json:"sequence"`
			Type     money.ChargeType `json:"type"`
			Due      string           `json:"due_date"`
			Amount   money.Cents      `json:"amount_cents"`
		} `json:"charges"`
	} `json:"cases"`
}

// collectionVectors is testdata/collection_dates.json.
type collectionVectors struct {
	Description string `json:"description"`
	Cases       []struct {
		Name      string          `json:"name"`
		Frequency money.Frequency `json:"frequency"`
		Earliest  string          `json:"earliest"`
		Due       []string        `json:"due_dates"`
		NotBefore []string        `json:"not_before"`
	} `json:"cases"`
}
