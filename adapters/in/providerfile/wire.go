package providerfile

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// The file of providers, field by field: its name, its type, and the meaning of its absence. Its values are checked by
// package catalogue.

func configuration(o *object, secrets Secrets) (c catalogue.Configuration) {
	c.Provider = catalogue.Provider{
		Code:        o.text("provider_code", required),
		Name:        o.name("name", required),
		AccountID:   o.text("account_id", optional),
		Environment: catalogue.Environment(o.text("environment", required)),
		Active:      o.boolean("active"),
		APIEnabled:  o.boolean("api_enabled"),
		SuccessURL:  o.text("success_url", optional),
		CancelURL:   o.text("cancel_url", optional),
		RateLimit:   number(o, "rate_limit", optional, strictjson.Whole(catalogue.MaxRate)),
		Branding:    section(o, "branding", branding),
		Destination: section(o, "webhook", func(o *object) catalogue.Destination { return destination(o, secrets) }),
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

func destination(o *object, secrets Secrets) catalogue.Destination {
	return catalogue.Destination{
		URL:    o.text("url", optional),
		Secret: o.secret("signing_secret", secrets),
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
		Prices:      each(o, "prices", optional, price),
	}
}

func price(o *object) catalogue.Price {
	return catalogue.Price{
		From:    o.date("valid_from"),
		Price:   number(o, "course_price", required, strictjson.Amount),
		Upfront: number(o, "upfront_payment", required, strictjson.Amount),
	}
}

func option(o *object) catalogue.Option {
	return catalogue.Option{
		Frequency: money.Frequency(o.text("payment_frequency", required)),
		Number:    number(o, "number_of_instalments", optional, strictjson.Whole(money.MaxInstalments)),
		Amount:    number(o, "instalment_amount", optional, strictjson.AboveZero),
	}
}

// The file of terms: {"lender": {…}, "dispute_resolution": {…}, "cancellation": {…}, "hardship": {…}, "default_fees": […],
// "authority": {…}, "terms": [{"title": …, "text": …}], "privacy": {"agency": {…}, "recipients": [{…}]}, "profile": "none", "profile_reason": …}.

func terms(o *object) TermsFile {
	profile, reason := o.profile()
	privacy := section(o, "privacy", privacy)
	file := TermsFile{
		Agency:     privacy.Agency,
		Recipients: privacy.Recipients,
		Profile:    profile,
		Reason:     reason,
		Terms: agreement.Terms{
			Lender:         section(o, "lender", lender),
			Disputes:       section(o, "dispute_resolution", disputes),
			Cancellation:   section(o, "cancellation", cancellation),
			NoticeDays:     number(o, "notice_days", optional, strictjson.Whole(agreement.MaxNotice)),
			FrequentNotice: number(o, "frequent_notice_business_days", optional, strictjson.Whole(agreement.MaxFrequentNotice)),
			Hardship:       section(o, "hardship", func(o *object) string { return o.name("contact", required) }),
			DefaultFees:    fees(o, "default_fees"),
			Authority:      section(o, "authority", authority),
			Blocks:         each(o, "terms", optional, block),
		},
	}
	if file.Chosen() == ConsumerCredit && file.Terms.Cancellation != (agreement.Cancellation{}) {
		file.Terms.Cancellation.PayWithin = agreement.PayWithinByLaw
	}
	return file
}

func privacy(o *object) TermsFile {
	return TermsFile{Agency: section(o, "agency", agency), Recipients: each(o, "recipients", optional, recipient)}
}

func recipient(o *object) agreement.Recipient {
	return agreement.Recipient{Name: o.name("name", required), Country: o.name("country", required), Purpose: o.name("purpose", required)}
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
		Email:        o.name("email", optional),
	}
}

const maxWorkingDays = 60

func disputes(o *object) agreement.DisputeScheme {
	return agreement.DisputeScheme{Name: o.name("scheme", required), Contact: o.name("contact", required)}
}

func cancellation(o *object) agreement.Cancellation {
	return agreement.Cancellation{
		WorkingDays: number(o, "working_days", required, strictjson.Whole(maxWorkingDays)),
		How:         strings.Trim(o.name("how", required), "\n "),
	}
}

// fees reads a list of fees, or "none". Absent, they are not stated.
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
		Initiator:         o.name("initiator", optional),
		AuthorisationCode: o.text("authorisation_code", optional),
		Statement:         o.statement("particulars", "code", "reference"),
		Calendar:          money.Calendar(o.text("collection_days", optional)),
		Conditions:        each(o, "conditions", optional, block),
	}
}

const maxStatement = 12

// statement reads the fields of a bank statement: "particulars KOWHAI, code PLAN, reference COURSE"; "" if no field is given.
func (o *object) statement(names ...string) string {
	var parts []string
	for _, name := range names {
		switch text := o.name(name, optional); {
		case len(text) > maxStatement:
			o.faults.add(o.At(name), fmt.Sprintf("must have at most %d characters", maxStatement))
		case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }):
			o.faults.add(o.At(name), "must be plain letters, digits and punctuation, as bank statements show them")
		case text != "":
			parts = append(parts, name+" "+text)
		}
	}
	return strings.Join(parts, ", ")
}

func (o *object) profile() (p Profile, reason string) {
	v, given := o.Take("profile")
	p = cmp.Or(Profile(v.Text), ConsumerCredit)
	if given && v.Kind != strictjson.String || p != ConsumerCredit && p != NoProfile {
		o.faults.add(o.At("profile"), fmt.Sprintf("must be %q, which is the default, or %q", ConsumerCredit, NoProfile))
	}
	reason = o.name("profile_reason", optional)
	switch fault := text.CheckReadable(reason); {
	case reason == "" && p == NoProfile:
		o.faults.add(o.At("profile_reason"), "must be given")
	case reason != "" && p != NoProfile:
		o.faults.add(o.At("profile_reason"), fmt.Sprintf("belongs to the profile %q alone", NoProfile))
	case utf8.RuneCountInString(reason) > maxReason:
		o.faults.add(o.At("profile_reason"), fmt.Sprintf("must have at most %d characters", maxReason))
	case fault != "":
		o.faults.add(o.At("profile_reason"), fault)
	}
	return p, reason
}

const maxReason = 500

func block(o *object) agreement.Block {
	return agreement.Block{Title: o.name("title", required), Text: strings.Trim(o.name("text", required), "\n ")}
}
