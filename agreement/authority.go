package agreement

import (
	"errors"
	"fmt"
	"strings"
)

// Authority is the wording of the operator's direct debit authority. The zero Authority is the scheme's usual wording,
// without a code and without words for the bank statement.
type Authority struct {
	AuthorisationCode string // 7 digits, under which the initiator debits accounts
	Initiator         string // who debits the account, by the name that the code is registered for; "" means who collects
	Particulars       string // this, Code and Reference are what the bank statement shows: up to 12 characters each
	Code              string
	Reference         string
	Conditions        []Block // in the place of the scheme's usual ones, where there are any
}

// Limits of an Authority.
const (
	authorisationDigits = 7
	maxStatement        = 12
	maxConditions       = 20
)

// IsZero reports whether a says nothing.
func (a Authority) IsZero() bool {
	return a.AuthorisationCode == "" && a.Initiator == "" && a.Statement() == "" && len(a.Conditions) == 0
}

// Statement says what the bank statement shows, such as "particulars KOWHAI, code PLAN, reference COURSE"; "" if that is not
// known.
func (a Authority) Statement() string {
	var parts []string
	for _, field := range []struct{ name, value string }{
		{"particulars", a.Particulars}, {"code", a.Code}, {"reference", a.Reference},
	} {
		if field.value != "" {
			parts = append(parts, field.name+" "+field.value)
		}
	}
	return strings.Join(parts, ", ")
}

// check calls fault for everything that is wrong with a.
func (a Authority) check(fault func(error)) {
	add := func(place, message string) {
		if message != "" {
			fault(errors.New("authority." + place + " " + message))
		}
	}
	if a.AuthorisationCode != "" && (len(a.AuthorisationCode) != authorisationDigits || strings.Trim(a.AuthorisationCode, "0123456789") != "") {
		add("authorisation_code", fmt.Sprintf("must be %d digits", authorisationDigits))
	}
	add("initiator", textFault(a.Initiator, maxTermLine, false))
	add("particulars", statementFault(a.Particulars))
	add("code", statementFault(a.Code))
	add("reference", statementFault(a.Reference))
	if len(a.Conditions) > maxConditions {
		add("conditions", fmt.Sprintf("must be at most %d", maxConditions))
	}
	for i, b := range a.Conditions {
		b.check(fmt.Sprintf("authority.conditions[%d]", i), fault)
	}
}

// statementFault returns what is wrong with a field of the bank statement, or "".
func statementFault(value string) string {
	if len(value) > maxStatement {
		return fmt.Sprintf("must have at most %d characters", maxStatement)
	}
	for _, r := range value {
		if r < ' ' || r > '~' {
			return "must be plain letters, digits and punctuation, as bank statements show them"
		}
	}
	return ""
}
