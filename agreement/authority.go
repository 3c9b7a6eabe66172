package agreement

import "strings"

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
