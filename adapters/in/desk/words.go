package desk

import (
	"cmp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// label is a state in words, with its tone for the eye: good, heed, bad or quiet.
type label struct{ Words, Tone string }

func (v *visit) State(c checkout.Checkout) label {
	l := label{sentence(c.Words(v.Now())), "heed"}
	switch {
	case c.Ended(), c.Erased():
		l.Tone = "quiet"
	case c.Setup.Mandate.Dead():
		l.Tone = "bad"
	case c.Status == checkout.Confirmed:
		l.Tone = "good"
	}
	return l
}

func (v *visit) ProviderState(p catalogue.Provider) label {
	if err := p.Usable(v.env); err != nil {
		return label{"Calls refused: " + err.Error(), "bad"}
	}
	return label{"Active", "good"}
}

func (v *visit) JobState(j checkout.JobRecord) label { return jobStates[j.State] }

var jobStates = map[checkout.JobState]label{
	checkout.JobPending: {"waits", "heed"}, checkout.JobDone: {"done", "good"}, checkout.JobFailed: {"failed", "bad"},
	checkout.JobDropped: {"not sent", "quiet"},
}

func (v *visit) JobTime(j checkout.JobRecord) string {
	switch {
	case j.State != checkout.JobPending:
		return v.At(j.SettledAt)
	case j.Due.IsZero():
		return "due now"
	}
	return "due " + v.At(j.Due)
}

func (v *visit) JobText(j checkout.Job) string {
	return strings.TrimSpace(jobTexts[j.Kind] + " " + spaced(j.Name))
}

var jobTexts = map[checkout.JobKind]string{
	checkout.JobDeliver: "Event", checkout.JobNotify: "E-mail:", checkout.JobSync: "Write to the CRM",
	checkout.JobLook: "Ask the processor about the setup", checkout.JobEnd: "End the setup at the processor",
}

func (v *visit) Mandate(s checkout.Setup) string {
	return spaced(string(s.Mandate)) + " " + s.MandateReason
}

// Masked returns personal data, or its first letter until the data is revealed.
func (v *visit) Masked(data string) string {
	if first, size := utf8.DecodeRuneInString(data); !v.Revealed && size > 0 {
		return string(first) + "•••"
	}
	return data
}

// OfCheckout reports whether the subject of an act is a checkout, or its agreement.
func (v *visit) OfCheckout(a checkout.Act) bool {
	return strings.HasPrefix(a.Subject, a.ProviderCode+"-") || strings.HasPrefix(a.Subject, "PPA-")
}

func (v *visit) At(t time.Time) string { return t.In(v.zone).Format("2 Jan 2006, 15:04:05 MST") }

func (v *visit) MomentText(m checkout.Moment) string {
	return cmp.Or(momentTexts[m.Kind], sentence(string(m.Kind)))
}

// momentTexts describe moments, where the kind of the moment says too little.
var momentTexts = map[checkout.MomentKind]string{
	checkout.MomentOpened: "Payer opened the page", checkout.MomentPressed: "Payer went on to the bank",
	checkout.MomentReturned: "Payer came back from the bank", checkout.MomentRefused: "Call refused",
	checkout.MomentCRMRefused:  "CRM refused",
	checkout.MomentEventFailed: "Event not taken", checkout.MomentNoticeSent: "E-mail sent", checkout.MomentNoticeFailed: "E-mail not sent",
	checkout.MomentErased: "Personal data erased",
}

func (v *visit) MomentDetail(m checkout.Moment) string {
	switch m.Kind {
	case checkout.MomentSetupDone, checkout.MomentSetupFailed, checkout.MomentMandateChanged:
		return spaced(m.Detail)
	case checkout.MomentRefused:
		if code, fields, _ := strings.Cut(m.Detail, " "); refusalTexts[code] != "" {
			return strings.TrimSpace(refusalTexts[code]+" "+fields) + " (" + code + ")"
		}
	}
	return m.Detail
}

// refusalTexts give the reasons for which a call about a checkout is refused. The names of fields follow them.
var refusalTexts = map[string]string{
	string(checkout.CodeValidation):      "missing or invalid fields",
	string(checkout.CodeConflict):        "the identifiers are not this checkout’s:",
	string(checkout.CodeIntentConflict):  "the order has a checkout with a different enrolment:",
	string(checkout.CodeSetupIncomplete): "the direct debit was not set up",
	string(checkout.CodeErased):          "the student’s data was erased",
	string(checkout.CodeCancelled):       "the checkout was cancelled",
	string(checkout.CodeLinkExpired):     "the link had expired",
	string(checkout.CodeTermsChanged):    "the payer’s page had earlier terms",
}

func spaced(word string) string    { return strings.ReplaceAll(word, "_", " ") }
func sentence(words string) string { return strings.ToUpper(words[:1]) + spaced(words[1:]) }
