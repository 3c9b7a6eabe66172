package agreement

import "strings"

// AccountMask is a bank account number as it is kept and shown: with [HiddenDigit] in the place of what is hidden, such
// as 01-0902-•••••89-00. Records of earlier versions have only the last two to four digits of the base number.
type AccountMask string

// HiddenDigit stands in an AccountMask for a digit that is hidden.
const HiddenDigit = "•"

// Ending returns the digits that an earlier version kept; "" for a mask.
func (m AccountMask) Ending() string {
	if strings.Trim(string(m), "0123456789") != "" {
		return ""
	}
	return string(m)
}

// Words returns how the account is shown to its payer: the mask, or "ending in 89 before the suffix" for what an earlier
// version kept.
func (m AccountMask) Words() string {
	if ending := m.Ending(); ending != "" {
		return "ending in " + ending + " before the suffix"
	}
	return string(m)
}
