// Package checkout holds the rules of a checkout: what a create may say, when two creates
// mean the same enrolment, when a confirm is accepted, and what each leads to. A rule
// takes values and returns the next state, the records and events that go with it, or a
// refusal; it does no I/O, reads no clock and changes nothing.
package checkout

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/money"
)

// Status is the state of a checkout in the contract's words (section 3).
type Status string

const (
	SetupRequired Status = "direct_debit_setup_required"
	Confirmed     Status = "confirmed"
	Cancelled     Status = "cancelled" // beyond the contract: cancelled by the provider or the operator before its confirm
)

// Checkout is one enrolment from create to confirm.
type Checkout struct {
	// Revision grows with each change: the milliseconds of the change, or one more than before. After a restore of the store to an
	// earlier time it is still greater than every revision that was lost.
	Revision int64

	ID             string // <provider_code>-<unix milliseconds>-<16 characters of a-z2-7>
	ProviderCode   string
	OrderID        string // the provider's; unique within the provider
	IdempotencyKey string // of the request that opened it: the header, or <provider_code>:<order id>
	RequestID      string // of the request that opened it
	CreatedBy      Actor
	CreatedAt      time.Time
	Status         Status
	Student        Student
	CourseCode     string // "" for a legacy provider
	Intent         Intent
	Tokens         []Token // every setup token that may still be valid, oldest first; the last is the latest
	Setup          Setup
	Confirmation   Confirmation // zero until it is confirmed
	End            End          // zero until it is cancelled, or its agreement withdrawn
	ErasedAt       time.Time    // when the personal data was erased; zero while it is on record
}

// Student is the person who enrols, as the first create said.
type Student struct {
	FirstName string
	LastName  string
	Email     string
}

// Name returns the student's name as it is written.
func (s Student) Name() string { return agreement.Student(s).Name() }

// Confirmation is the evidence of an accepted confirm.
type Confirmation struct {
	At              time.Time
	RequestID       string
	FirstPayment    money.Date // as agreed; the create's date was a preference
	AgreementNumber string
	DocumentSHA256  [32]byte // of the PDF; zero if it could not be rendered
}

// PDFGenerated reports whether the agreement's PDF was stored.
func (c Confirmation) PDFGenerated() bool { return c.DocumentSHA256 != [32]byte{} }

// Schedule returns the charges of the checkout: as agreed once it is confirmed, before that as the provider
// prefers.
func (c Checkout) Schedule() []money.Charge {
	plan := c.Intent.Plan
	plan.First = c.FirstPayment()
	return money.Schedule(c.Intent.Pricing.Upfront, plan)
}

// FirstPayment returns the planned day of the first payment: as agreed once it is confirmed, before that as the provider prefers.
func (c Checkout) FirstPayment() money.Date {
	if c.Status == Confirmed {
		return c.Confirmation.FirstPayment
	}
	return c.Intent.Plan.First
}

// NewID makes a checkout id: <provider_code>-<unix milliseconds>-<80 random bits as 16 characters>.
func NewID(provider string, now time.Time, entropy [10]byte) string {
	suffix := strings.ToLower(base32.StdEncoding.EncodeToString(entropy[:]))
	return provider + "-" + strconv.FormatInt(now.UnixMilli(), 10) + "-" + suffix
}

// PlausibleID reports whether a text consists of letters, digits, hyphens and underscores of ASCII, as every checkout id does, and no
// token. The store need not be asked for any other, and it stands in no log.
func PlausibleID(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// NaturalKey returns the key of a record of an enrolment in the CRM or at the processor: 32 hexadecimal digits. The same enrolment
// always has the same key, so that creating the record again, even after a restore from a backup, leads to the same record. It is
// the start of the SHA-256 of the four parts, each preceded by its length in bytes as eight bytes, big-endian.
func NaturalKey(env catalogue.Environment, provider, order, kind string) string {
	return hash(string(env), provider, order, kind)
}

func hash(parts ...string) string {
	var all []byte
	for _, part := range parts {
		all = append(binary.BigEndian.AppendUint64(all, uint64(len(part))), part...)
	}
	sum := sha256.Sum256(all)
	return hex.EncodeToString(sum[:16])
}

// ProviderOf returns the code of the provider of the checkout with this id: the text before its last two hyphens. It is "" for a
// text that is no checkout id. A store finds everything of a checkout by both.
func ProviderOf(checkoutID string) string {
	suffix := max(strings.LastIndexByte(checkoutID, '-'), 0)
	return checkoutID[:max(strings.LastIndexByte(checkoutID[:suffix], '-'), 0)]
}
