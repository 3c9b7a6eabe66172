package providerfile

import (
	"cmp"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/money"
)

// The file of providers, field by field: its name, its type, and the meaning of its absence. Its values are checked by
// package catalogue.

func configurations(o *object) []catalogue.Configuration {
	return each(o, "providers", required, configuration)
}

func configuration(o *object) (c catalogue.Configuration) {
	c.Provider = catalogue.Provider{
		Code:        o.text("provider_code", required),
		Name:        o.name("name", required),
		AccountID:   o.text("account_id", optional),
		Environment: catalogue.Environment(o.text("environment", required)),
		Active:      o.boolean("active"),
		APIEnabled:  o.boolean("api_enabled"),
		SuccessURL:  o.text("success_url", optional),
		CancelURL:   o.text("cancel_url", optional),
		NoticeDays:  number(o, "notice_days", optional, strictjson.Whole(catalogue.MaxNotice)),
		Branding:    section(o, "branding", branding),
		Destination: section(o, "webhook", destination),
		Mode:        catalogue.Legacy,

		EnrolmentOrigins: items(o, "enrolment_origins", optional, o.faults.text),
	}
	c.Courses = each(o, "courses", optional, func(o *object) catalogue.Course { return course(o, c.Provider.Environment) })
	if _, given := o.Take("courses"); given {
		c.Provider.Mode = catalogue.Authoritative
	}
	return c
}

func branding(o *object) catalogue.Branding {
	return catalogue.Branding{
		DisplayName:   o.name("display_name", optional),
		PrimaryColour: o.text("primary_colour", optional),
		LogoURL:       o.text("logo_url", optional),
		SupportEmail:  o.text("support_email", optional),
	}
}

func destination(o *object) catalogue.Destination {
	return catalogue.Destination{
		URL:    o.text("url", optional),
		Secret: o.text("signing_secret", optional),

		PreviousSecret: o.text("previous_signing_secret", optional),
		PreviousUntil:  o.time("previous_secret_until"),
	}
}

// course reads a course, which is of its provider's environment unless it names another.
func course(o *object, inherited catalogue.Environment) catalogue.Course {
	if !inherited.Valid() {
		inherited = catalogue.Sandbox // the provider's environment is reported already; report no second fault
	}
	return catalogue.Course{
		Code:        o.text("course_code", required),
		Name:        o.name("course_name", required),
		Price:       number(o, "course_price", required, strictjson.Amount),
		Upfront:     number(o, "upfront_payment", optional, strictjson.Amount),
		Active:      o.boolean("active"),
		Environment: cmp.Or(catalogue.Environment(o.text("environment", optional)), inherited),
		Options:     each(o, "plans", required, option),
	}
}

func option(o *object) catalogue.Option {
	return catalogue.Option{
		Frequency: money.Frequency(o.text("payment_frequency", required)),
		Number:    number(o, "number_of_instalments", optional, strictjson.Whole(money.MaxInstalments)),
		Amount:    number(o, "instalment_amount", optional, strictjson.AboveZero),
	}
}

// The file of terms: {"lender": {…}, "fees": […], "default_fees": […], "authority": {…}, "terms": [{"title": …, "text": …}],
// "privacy": {"agency": {…}}, "profile": "consumer-credit"}.

func terms(o *object) TermsFile {
	return TermsFile{
		Agency:  section(o, "privacy", func(o *object) agreement.Agency { return section(o, "agency", agency) }),
		Profile: o.profile("profile"),
		Terms: agreement.Terms{
			Lender:      section(o, "lender", lender),
			Fees:        fees(o, "fees"),
			DefaultFees: fees(o, "default_fees"),
			Authority:   section(o, "authority", authority),
			Blocks:      each(o, "terms", optional, block),
		},
	}
}

func agency(o *object) agreement.Agency {
	return agreement.Agency{
		Name:    o.name("name", optional),
		Address: o.name("address", optional),
		Contact: o.name("contact", optional),
	}
}

func lender(o *object) agreement.Lender {
	return agreement.Lender{
		Name:         o.name("name", optional),
		Address:      o.name("address", optional),
		Registration: o.name("registration", optional),
	}
}

// fees reads the fees of one kind: "none", or a list of them. Absent, they are not stated.
func fees(o *object, name string) agreement.FeeList {
	v, given := o.Take(name)
	switch {
	case v.Kind == strictjson.Array:
		return agreement.FeeList{Stated: true, Fees: each(o, name, optional, fee)}
	case given && (v.Kind != strictjson.String || v.Text != "none"):
		o.faults.add(o.At(name), `must be "none", or a list of fees`)
	}
	return agreement.FeeList{Stated: given}
}

func fee(o *object) agreement.Fee {
	return agreement.Fee{
		Name:   o.name("name", required),
		Amount: number(o, "amount", required, strictjson.Amount),
		When:   o.name("when", required),
	}
}

func authority(o *object) agreement.Authority {
	return agreement.Authority{
		AuthorisationCode: o.text("authorisation_code", optional),
		Initiator:         o.name("initiator", optional),
		Particulars:       o.name("particulars", optional),
		Code:              o.name("code", optional),
		Reference:         o.name("reference", optional),
		Conditions:        each(o, "conditions", optional, block),
	}
}

func (o *object) profile(name string) Profile {
	v, given := o.Take(name)
	if given && (v.Kind != strictjson.String || v.Text != string(ConsumerCredit)) {
		o.faults.add(o.At(name), `must be "`+string(ConsumerCredit)+`", or left out`)
	}
	return Profile(v.Text)
}

func block(o *object) agreement.Block {
	return agreement.Block{Title: o.name("title", required), Text: strings.Trim(o.name("text", required), "\n ")}
}
