package fakeprovider

import "encoding/json"

// The requests and answers of the API, as far as the provider has a use for them.

type orderWire struct {
	ProviderCode string `json:"provider_code"`
	OrderID      string `json:"provider_order_id"`
}

type studentWire struct {
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Email     string `json:"email"`
}

type courseWire struct {
	CourseCode string `json:"course_code"`
}

type wishWire struct {
	Frequency    string `json:"payment_frequency"`
	FirstPayment string `json:"first_payment_date"`
}

type createWire struct {
	Provider orderWire   `json:"provider"`
	Student  studentWire `json:"student"`
	Course   courseWire  `json:"course"`
	Plan     wishWire    `json:"plan"`
}

func (p *Provider) createBody(order string) createWire {
	o := p.Offer
	return createWire{
		Provider: orderWire{p.Code, order},
		Student:  studentWire{o.FirstName, o.LastName, o.Email},
		Course:   courseWire{o.CourseCode},
		Plan:     wishWire{o.Frequency, o.FirstPayment},
	}
}

type createdWire struct {
	Records struct {
		OpportunityID string `json:"opportunity_id"`
	} `json:"records"`
	Checkout struct {
		ID string `json:"checkout_id"`
	} `json:"checkout"`
	DirectDebit struct {
		DDAID    string `json:"dda_id"`
		SetupURL string `json:"setup_url"`
		Token    string `json:"token"`
	} `json:"direct_debit"`
	Plan    planWire    `json:"plan"`
	Pricing pricingWire `json:"pricing"`
}

// planWire and pricingWire have the amounts as the API writes them.
type planWire struct {
	Frequency    string      `json:"payment_frequency"`
	Instalments  int         `json:"number_of_instalments"`
	Amount       json.Number `json:"instalment_amount"`
	Final        json.Number `json:"final_instalment_amount"` // "" where it is like the others
	FirstPayment string      `json:"first_payment_date"`
}

type pricingWire struct {
	Price   json.Number `json:"course_price"`
	Upfront json.Number `json:"upfront_payment"`
}

type polledWire struct {
	DirectDebit struct {
		SetupComplete bool `json:"setup_complete"`
	} `json:"direct_debit"`
}

type identifiersWire struct {
	CheckoutID    string `json:"checkout_id"`
	Token         string `json:"checkout_token"`
	OpportunityID string `json:"opportunity_id"`
	DDAID         string `json:"dda_id"`
}

type paymentWire struct {
	Method           string `json:"payment_method"`
	FirstPayment     string `json:"first_payment_date"`
	DepositConfirmed bool   `json:"deposit_confirmed"`
}

type confirmWire struct {
	Provider     orderWire       `json:"provider"`
	Checkout     identifiersWire `json:"checkout"`
	Payment      paymentWire     `json:"payment"`
	Declarations map[string]bool `json:"declarations"`
}

// confirmBody returns the body of a confirm with the student's declarations, by the names of their fields.
func (p *Provider) confirmBody(e enrolment, declared map[string]bool) confirmWire {
	w := confirmWire{
		Provider: orderWire{p.Code, e.order},
		Checkout: identifiersWire{e.opened.Checkout.ID, e.opened.DirectDebit.Token, e.opened.Records.OpportunityID,
			e.opened.DirectDebit.DDAID},
		Payment:      paymentWire{"service_payment_plan", p.Offer.FirstPayment, declared[depositField]},
		Declarations: map[string]bool{},
	}
	for _, d := range declarations[1:] {
		w.Declarations[d.Name] = declared[d.Name]
	}
	return w
}

type agreementWire struct {
	Number       string `json:"number"`
	PDFGenerated bool   `json:"pdf_generated"`
}

type confirmedWire struct {
	Agreement agreementWire `json:"agreement"`
}

type errorWire struct {
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Details []struct {
			Field   string `json:"field"`
			Message string `json:"message"`
		} `json:"details"`
	} `json:"error"`
	RequestID string `json:"request_id"`
}
