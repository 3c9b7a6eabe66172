package providerfile

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// TermsFile is the content of the file of an operator's terms. The zero TermsFile is no file.
type TermsFile struct {
	Terms  agreement.Terms
	Agency agreement.Agency // that the privacy notice names; optional
	// Recipients are the companies that the privacy notice names as recipients of personal data; optional.
	Recipients []agreement.Recipient
	Profile    Profile // "" is ConsumerCredit
	Reason     string  // for another profile
}

// Profile is the law by which the terms are checked before a production server starts.
type Profile string

const (
	// ConsumerCredit wants what the Credit Contracts and Consumer Finance Act 2003 has a lender disclose, as far as this service
	// knows of it.
	ConsumerCredit Profile = "consumer-credit"
	// NoProfile checks nothing: the operator has said why.
	NoProfile Profile = "none"
)

// Chosen returns the profile of the file.
func (f TermsFile) Chosen() Profile { return cmp.Or(f.Profile, ConsumerCredit) }

// leastDays is the number of working days in which the law lets every debtor cancel.
const leastDays = 5

// Missing returns what the terms lack by their profile, a sentence each that begins with the name of the file's field. named says
// that the processor names who debits the account, so that the terms need not.
func (f TermsFile) Missing(named bool) (missing []string) {
	if f.Chosen() != ConsumerCredit {
		return nil
	}
	t := f.Terms
	for _, field := range []struct{ name, fault string }{
		{"lender.name", given(t.Lender.Name != "")},
		{"lender.address", given(t.Lender.Address != "")},
		{"lender.registration", cmp.Or(given(t.Lender.Registration != ""), checkRegistration(t.Lender.Registration))},
		{"lender.email", cmp.Or(given(t.Lender.Email != ""), text.CheckEmail(t.Lender.Email))},
		{"dispute_resolution.scheme", given(t.Disputes.Name != "")},
		{"dispute_resolution.contact", cmp.Or(given(t.Disputes.Contact != ""), checkContact(t.Disputes.Contact))},
		{"cancellation.working_days", cmp.Or(given(t.Cancellation.WorkingDays > 0), checkDays(t.Cancellation.WorkingDays))},
		{"cancellation.how", given(t.Cancellation.How != "")},
		{"hardship.contact", cmp.Or(given(t.Hardship != ""), checkContact(t.Hardship))},
		{"default_fees", given(t.DefaultFees.Stated)},
		{"authority.authorisation_code", given(named || t.Authority.AuthorisationCode != "")},
	} {
		if field.fault != "" {
			missing = append(missing, field.name+" "+field.fault)
		}
	}
	return missing
}

// given returns the fault of a field that is not there.
func given(there bool) string {
	if there {
		return ""
	}
	return "must be given"
}

func checkDays(workingDays int) string {
	if workingDays < leastDays {
		return fmt.Sprintf("must be %d or more", leastDays)
	}
	return ""
}

var registrationForm = regexp.MustCompile(`^FSP[0-9]+$`)

// checkRegistration returns what is wrong with a number of the Financial Service Providers Register; "" for a right one.
func checkRegistration(s string) string {
	if !registrationForm.MatchString(s) {
		return "must be a number of the Financial Service Providers Register, such as FSP123456"
	}
	return ""
}

// leastDigits is the number of digits of the shortest telephone number that a contact can be.
const leastDigits = 6

// checkContact returns what is wrong with the contact of a payer in need; "" for an e-mail address, a web page or a telephone number.
// Whether anybody answers there is not checked.
func checkContact(s string) string {
	digits := 0
	for _, r := range s {
		if '0' <= r && r <= '9' {
			digits++
		}
	}
	page, err := url.Parse(s)
	isPage := err == nil && page.Scheme == "https" && strings.Contains(page.Host, ".")
	if text.CheckEmail(s) != "" && !isPage && digits < leastDigits {
		return "must be an e-mail address, a web page (https://…) or a telephone number"
	}
	return ""
}
