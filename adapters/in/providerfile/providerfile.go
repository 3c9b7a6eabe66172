// Package providerfile reads the files in which an operator describes providers and their catalogues,
// and its own terms.
package providerfile

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// maxDepth is twice what a provider file needs.
const maxDepth = 16

// Faults are all faults of a file.
type Faults []catalogue.Fault

// Error lists the faults with their places: a single one on one line, several on a line each.
func (f Faults) Error() string {
	var lines []string
	for _, fault := range f {
		lines = append(lines, cmp.Or(fault.Place, "the file")+" "+fault.Message)
	}
	if len(lines) == 1 {
		return lines[0]
	}
	return fmt.Sprintf("%d faults\n  %s", len(lines), strings.Join(lines, "\n  "))
}

// Parse parses a provider file. A faulty file is refused as a whole, with all its Faults, or only the
// first if the file is not well-formed JSON. No fault shows a signing secret.
//
// The configurations come in the order of the file and have passed their Check; names are in
// Unicode NFC, without white space at the edges; provider codes are unique.
func Parse(data []byte) ([]catalogue.Configuration, error) { return ParseWith(data, nil) }

// Secrets returns the secret to which the file refers as "env:NAME" or "file:PATH": one of variable and file is set. Its error does not
// repeat the secret.
type Secrets func(variable, file string) (string, error)

// ParseWith parses a provider file whose signing secrets may be references. Without secrets they may not.
func ParseWith(data []byte, secrets Secrets) ([]catalogue.Configuration, error) {
	return parseProviders(data, secrets, nil, nil)
}

// ParseRecords parses a provider file that was made of records. The Faults begin with the found faults of its making, and name the
// record and field of each place in the file that places has.
func ParseRecords(data []byte, places map[string]string, found Faults) ([]catalogue.Configuration, error) {
	return parseProviders(data, nil, places, found)
}

func parseProviders(data []byte, secrets Secrets, places map[string]string, found Faults) ([]catalogue.Configuration, error) {
	all, faults := parse(data, func(o *object) []catalogue.Configuration {
		return each(o, "providers", required, func(o *object) catalogue.Configuration { return configuration(o, secrets) })
	})
	if faults = append(found, check(all, faults, places)...); len(faults) > 0 {
		return nil, faults
	}
	return all, nil
}

// ParseTerms parses the file in which an operator describes its terms. A faulty file is refused as a
// whole, with every fault. Texts are in Unicode NFC, without white space at the edges.
func ParseTerms(data []byte) (TermsFile, error) {
	file, faults := parse(data, terms)
	if len(faults) > 0 {
		return TermsFile{}, faults
	}
	if err := errors.Join(file.Terms.Check(), file.Agency.Check(), agreement.CheckRecipients(file.Recipients)); err != nil {
		return TermsFile{}, err
	}
	return file, nil
}

// parse reads a file whose JSON is an object, and returns its faults: the first one alone if it is not well-formed JSON.
func parse[T any](data []byte, read func(*object) T) (file T, faults Faults) {
	document, err := strictjson.Parse(data, maxDepth)
	if fault, ok := errors.AsType[*strictjson.Error](err); ok {
		return file, Faults{{Place: fault.Path, Message: fault.Message}}
	}
	file = readObject(&faults, "", document, read)
	return file, faults
}

// check adds the faults of the configurations, except faults that only follow from a value that could not be parsed. places has other
// names of places in the file.
func check(configurations []catalogue.Configuration, faults Faults, places map[string]string) Faults {
	unread := make(map[string]bool, len(faults))
	for _, f := range faults {
		unread[f.Place] = true
	}
	first := make(map[string]string) // place of a provider code's first use
	for i, c := range configurations {
		place := fmt.Sprintf("providers[%d]", i)
		for _, f := range c.Check() {
			if f.Place = place + "." + f.Place; !isWithin(f.Place, unread) {
				faults = append(faults, f)
			}
		}
		if earlier, used := first[c.Provider.Code]; used && c.Provider.Code != "" {
			faults.add(place+".provider_code", "must be unique: "+earlier+" has the same")
			continue
		}
		first[c.Provider.Code] = cmp.Or(places[place], place)
	}
	for i, f := range faults {
		faults[i].Place = cmp.Or(places[f.Place], f.Place)
	}
	return faults
}

func isWithin(place string, places map[string]bool) bool {
	for place != "" && !places[place] {
		place = place[:max(strings.LastIndexAny(place, ".["), 0)]
	}
	return place != ""
}

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
	// ConsumerCredit requires the disclosures of a lender by the Credit Contracts and Consumer Finance Act 2003, as far as this
	// service has them.
	ConsumerCredit Profile = "consumer-credit"
	// NoProfile checks nothing: the operator has said why.
	NoProfile Profile = "none"
)

// Chosen returns the profile of the file.
func (f TermsFile) Chosen() Profile { return cmp.Or(f.Profile, ConsumerCredit) }

// leastDays is the number of working days in which the law lets every debtor cancel.
const leastDays = 5

// Missing returns a sentence for each term that the profile requires and the file lacks; it begins with the name of the field.
// named reports that the processor names the party that debits, so that the terms need not.
func (f TermsFile) Missing(named bool) (missing []string) {
	if f.Chosen() != ConsumerCredit {
		return nil
	}
	t := f.Terms
	for _, field := range []struct{ name, fault string }{
		{"lender.name", given(t.Lender.Name != "")},
		{"lender.address", given(t.Lender.Address != "")},
		{"lender.registration", cmp.Or(given(t.Lender.Registration != ""), unless(registrationForm.MatchString(t.Lender.Registration),
			"must be a number of the Financial Service Providers Register, such as FSP123456"))},
		{"lender.email", cmp.Or(given(t.Lender.Email != ""), text.CheckEmail(t.Lender.Email))},
		{"dispute_resolution.scheme", given(t.Disputes.Name != "")},
		{"dispute_resolution.contact", cmp.Or(given(t.Disputes.Contact != ""), checkContact(t.Disputes.Contact))},
		{"cancellation.working_days", cmp.Or(given(t.Cancellation.WorkingDays > 0),
			unless(t.Cancellation.WorkingDays >= leastDays, fmt.Sprintf("must be %d or more", leastDays)))},
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

func given(there bool) string { return unless(there, "must be given") }

// unless returns a fault, or "" where all is well.
func unless(well bool, fault string) string {
	if well {
		return ""
	}
	return fault
}

var (
	registrationForm = regexp.MustCompile(`^FSP[0-9]+$`)
	digitForm        = regexp.MustCompile(`[0-9]`)
)

const leastDigits = 6

// checkContact returns what is wrong with the contact of a payer in need; "" for an e-mail address, a web page or a telephone number.
// Whether anybody answers there is not checked.
func checkContact(s string) string {
	digits := len(digitForm.FindAllString(s, -1))
	page, err := url.Parse(s)
	isPage := err == nil && page.Scheme == "https" && strings.Contains(page.Host, ".")
	if text.CheckEmail(s) != "" && !isPage && digits < leastDigits {
		return "must be an e-mail address, a web page (https://…) or a telephone number"
	}
	return ""
}
