package checkout

// Account is a New Zealand bank account number whose bank is known and whose check digits are right.
type Account struct {
	Bank   string // 2 digits
	Branch string // 4
	Base   string // 7 or 8 digits as written, without a leading zero beyond 7
	Suffix string // 2 or 3
}

// ParseAccount reads an account number as people write it: 2-4-7-2/3 ASCII digits, with
// hyphens, spaces or nothing between them. Its errors read on from the field's name.
func ParseAccount(text string) (Account, error) { panic("todo") }

// Tail returns the last two digits of the base number: all that is kept of an account.
func (a Account) Tail() string { panic("todo") }

// BankName returns the name of the bank that the number belongs to.
func (a Account) BankName() string { panic("todo") }
