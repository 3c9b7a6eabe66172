package providerfile

import (
	"cmp"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/money"
)

// The file, field by field: its name, its type, and the meaning of its absence. Its values are checked by package
// catalogue.

func (r *reader) file(document strictjson.Value) []catalogue.Configuration {
	o := r.object("", document)
	defer o.end()
	var configurations []catalogue.Configuration
	providers, _ := o.list("providers", required)
	for i, v := range providers {
		configurations = append(configurations, r.configuration(item("providers", i), v))
	}
	return configurations
}

func (r *reader) configuration(place string, v strictjson.Value) catalogue.Configuration {
	o := r.object(place, v)
	defer o.end()
	p := catalogue.Provider{
		Code:        o.text("provider_code", required),
		Name:        o.name("name", required),
		AccountID:   o.text("account_id", optional),
		Environment: catalogue.Environment(o.text("environment", required)),
		Active:      o.boolean("active"),
		APIEnabled:  o.boolean("api_enabled"),
		SuccessURL:  o.text("success_url", optional),
		CancelURL:   o.text("cancel_url", optional),
		NoticeDays:  number(o, "notice_days", optional, strictjson.Whole(catalogue.MaxNotice)),
		Branding:    branding(o.section("branding")),
		Destination: destination(o.section("webhook")),
		Mode:        catalogue.Legacy,
	}
	origins, _ := o.list("enrolment_origins", optional)
	for i, v := range origins {
		p.EnrolmentOrigins = append(p.EnrolmentOrigins, r.string(item(o.At("enrolment_origins"), i), v))
	}
	c := catalogue.Configuration{Provider: p}
	courses, given := o.list("courses", optional)
	if given {
		c.Provider.Mode = catalogue.Authoritative
	}
	for i, v := range courses {
		c.Courses = append(c.Courses, r.course(item(o.At("courses"), i), v, p.Environment))
	}
	return c
}

func branding(o *object) catalogue.Branding {
	defer o.end()
	return catalogue.Branding{
		DisplayName:   o.name("display_name", optional),
		PrimaryColour: o.text("primary_colour", optional),
		LogoURL:       o.text("logo_url", optional),
		SupportEmail:  o.text("support_email", optional),
	}
}

func destination(o *object) catalogue.Destination {
	defer o.end()
	return catalogue.Destination{
		URL:    o.text("url", optional),
		Secret: o.text("signing_secret", optional),

		PreviousSecret: o.text("previous_signing_secret", optional),
		PreviousUntil:  o.time("previous_secret_until"),
	}
}

// course reads a course, which is of its provider's environment unless it names another.
func (r *reader) course(place string, v strictjson.Value, inherited catalogue.Environment) catalogue.Course {
	if !inherited.Valid() {
		inherited = catalogue.Sandbox // the provider's environment is reported already; report no second fault
	}
	o := r.object(place, v)
	defer o.end()
	c := catalogue.Course{
		Code:        o.text("course_code", required),
		Name:        o.name("course_name", required),
		Price:       number(o, "course_price", required, strictjson.Amount),
		Upfront:     number(o, "upfront_payment", optional, strictjson.Amount),
		Active:      o.boolean("active"),
		Environment: cmp.Or(catalogue.Environment(o.text("environment", optional)), inherited),
	}
	plans, _ := o.list("plans", required)
	for i, v := range plans {
		c.Options = append(c.Options, r.option(item(o.At("plans"), i), v))
	}
	return c
}

func (r *reader) option(place string, v strictjson.Value) catalogue.Option {
	o := r.object(place, v)
	defer o.end()
	return catalogue.Option{
		Frequency: money.Frequency(o.text("payment_frequency", required)),
		Number:    number(o, "number_of_instalments", optional, strictjson.Whole(money.MaxInstalments)),
		Amount:    number(o, "instalment_amount", optional, instalment),
	}
}

// The file of terms: {"lender": {…}, "fees": […], "default_fees": […], "authority": {…}, "terms": [{"title": …, "text": …}],
// "privacy": {"agency": {…}}, "profile": "consumer-credit"}.

func (r *reader) terms(document strictjson.Value) TermsFile {
	o := r.object("", document)
	defer o.end()
	file := TermsFile{Agency: agency(o.section("privacy")), Profile: o.profile("profile")}
	file.Terms = agreement.Terms{
		Lender:      lender(o.section("lender")),
		Fees:        o.fees("fees"),
		DefaultFees: o.fees("default_fees"),
		Authority:   authority(o.section("authority")),
	}
	blocks, _ := o.list("terms", optional)
	for i, v := range blocks {
		file.Terms.Blocks = append(file.Terms.Blocks, r.block(item("terms", i), v))
	}
	return file
}

func agency(privacy *object) agreement.Agency {
	defer privacy.end()
	o := privacy.section("agency")
	defer o.end()
	return agreement.Agency{
		Name:    o.name("name", optional),
		Address: o.name("address", optional),
		Contact: o.name("contact", optional),
	}
}

func lender(o *object) agreement.Lender {
	defer o.end()
	return agreement.Lender{
		Name:         o.name("name", optional),
		Address:      o.name("address", optional),
		Registration: o.name("registration", optional),
	}
}

// fees reads the fees of one kind: "none", or a list of them. Absent, they are not stated.
func (o *object) fees(name string) (l agreement.FeeList) {
	v, given := o.field(name, optional)
	switch {
	case !given:
		return l
	case v.Kind == strictjson.Array:
		l.Stated = true
		for i, v := range v.Items {
			l.Fees = append(l.Fees, o.reader.fee(item(o.At(name), i), v))
		}
	case v.Kind == strictjson.String && v.Text == "none":
		l.Stated = true
	default:
		o.reader.fault(o.At(name), `must be "none", or a list of fees`)
	}
	return l
}

func (r *reader) fee(place string, v strictjson.Value) agreement.Fee {
	o := r.object(place, v)
	defer o.end()
	return agreement.Fee{
		Name:   o.name("name", required),
		Amount: number(o, "amount", required, strictjson.Amount),
		When:   o.name("when", required),
	}
}

func authority(o *object) agreement.Authority {
	defer o.end()
	a := agreement.Authority{
		AuthorisationCode: o.text("authorisation_code", optional),
		Initiator:         o.name("initiator", optional),
		Particulars:       o.name("particulars", optional),
		Code:              o.name("code", optional),
		Reference:         o.name("reference", optional),
	}
	conditions, _ := o.list("conditions", optional)
	for i, v := range conditions {
		a.Conditions = append(a.Conditions, o.reader.block(item(o.At("conditions"), i), v))
	}
	return a
}

func (o *object) profile(name string) Profile {
	v, given := o.field(name, optional)
	if given && (v.Kind != strictjson.String || v.Text != string(ConsumerCredit)) {
		o.reader.fault(o.At(name), `must be "`+string(ConsumerCredit)+`", or left out`)
	}
	return Profile(v.Text)
}

func (r *reader) block(place string, v strictjson.Value) agreement.Block {
	o := r.object(place, v)
	defer o.end()
	return agreement.Block{Title: o.name("title", required), Text: strings.Trim(o.name("text", required), "\n ")}
}
