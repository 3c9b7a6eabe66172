package main

import (
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"regexp"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/out/pdf"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

func TestAgreementIsVerified(t *testing.T) {
	o := newOperator(t)
	number := o.confirmedOver(t)
	out, stderr := o.does(t, "agreements", "verify", number)
	want := regexp.MustCompile(`\Aok    the 53 charges sum to the course price, 2990.00
ok    they are the schedule of the plan: 52 Weekly instalments
ok    checkout KOWHAI-\d+-[a-z2-7]{16} was confirmed with this agreement
ok    the PDF, \d+ bytes, has the SHA-256 on record, [0-9a-f]{64}
ok    the evidence log has the same, recorded 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC
none  no evidence key is given, so that signatures are not checked
\z`)
	if !want.MatchString(out) || stderr != "" {
		t.Errorf("stdout %q, stderr %q; want on stdout alone\n%s", out, stderr, want)
	}
}

func TestAgreementWithoutItsPDFIsVerified(t *testing.T) {
	o := newOperator(t)
	number := o.confirmedOver(t, func(c *service.Config, _ *httpapi.Options) { c.Printer = failing{} })
	out := o.prints(t, "agreements", "verify", number)
	says(t, out, "\nnone  no PDF was rendered at the confirm\n")
}

// execute runs statements on the operator's store, as someone could who may write to its file.
func (o operator) execute(t *testing.T, statements string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", o.path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statements, args...); err != nil {
		t.Fatal(err)
	}
}

// storeRendered stores what render makes of an agreement in the place of its PDF, with its SHA-256.
func (o operator) storeRendered(t *testing.T, number string, render func(*pdf.Printer, agreement.Agreement) ([]byte, error)) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), o.path, sqlite.Options{Rand: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	a, err := db.Agreement(t.Context(), number)
	db.Close()
	if err != nil {
		t.Fatal(err)
	}
	printer, err := pdf.New(1)
	if err != nil {
		t.Fatal(err)
	}
	data, err := render(printer, a)
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(data)
	o.execute(t, `UPDATE documents SET bytes = ?, sha256 = ?`, data, hash[:])
}

func TestVerifyRefusesAnUnknownNumber(t *testing.T) {
	o := newOperator(t)
	number := o.confirmedOver(t)
	unknown := agreement.NewNumber(1999, [8]byte{}) // its check character is right
	for _, number := range []string{"PPA-1999-000001", unknown, "anything"} {
		o.fails(t, fmt.Sprintf("there is no agreement %q\n", number), "agreements", "verify", number)
	}
	for _, typo := range mistyped(number) {
		o.fails(t, fmt.Sprintf("there is no agreement %q; the number is mistyped: a character is wrong or two are swapped\n", typo),
			"agreements", "verify", typo)
	}
}

// Anyone who can write to the file of the store can change anything in it. Verify finds what is no longer consistent.
func TestVerifyFindsChangedRecords(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change string // a statement on the store
		want   string // a line
	}{
		{"a byte of the PDF", `UPDATE documents SET bytes = CAST(bytes || x'20' AS BLOB)`, "FAIL  the PDF, "},
		{"a PDF of something else, with its hash", `UPDATE documents SET bytes = x'00', sha256 = x'6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d'`, "FAIL  the evidence log has another document_sha256\n"},
		{"a PDF that was deleted", `DELETE FROM documents`, "FAIL  the PDF is not on record"},
		{"another document", `UPDATE documents SET id = 'x'`, "FAIL  the PDF is document x; the checkout names "},
		{"the address of the consent", `UPDATE checkouts SET consent = replace(consent, '127.0.0.1', '192.0.2.1')`,
			"has another consent to the direct debit terms"},
		{"the address of the consent, in every record", `UPDATE checkouts SET consent = replace(consent, '127.0.0.1', '192.0.2.1');
			UPDATE agreements SET details = replace(details, '127.0.0.1', '192.0.2.1')`, "FAIL  the evidence log has another consent_address\n"},
		{"the account", `UPDATE agreements SET account_mask = replace(account_mask, '89', '98')`,
			"FAIL  the evidence log has another account_mask\n"},
		{"the notice that was agreed", `UPDATE agreements SET details = replace(details, '"days":10', '"days":9')`,
			"FAIL  the evidence log has another notice_days\n"},
		{"that it was confirmed in the sandbox", `UPDATE agreements SET details = replace(details, '"sandbox":true', '"sandbox":false')`,
			"FAIL  the evidence log has another environment\n"},
		{"a cent of a charge", `UPDATE agreements SET schedule = replace(schedule, '5365]', '5364]')`,
			"FAIL  the figures: the charges sum to "},
		{"a due date", `UPDATE agreements SET schedule = replace(schedule, '2027-03-01', '2027-03-02')`,
			"FAIL  the figures: the charges are not those of the plan"},
		{"price and charges together", `UPDATE agreements SET price_cents = price_cents + 1, upfront_cents = upfront_cents + 1,
			schedule = replace(schedule, '20000]', '20001]')`, "FAIL  the evidence log has another course_price_cents, "},
		{"the same, compared with the checkout", `UPDATE agreements SET price_cents = price_cents + 1, upfront_cents = upfront_cents + 1,
			schedule = replace(schedule, '20000]', '20001]')`, " has another price"},
		{"the student", `UPDATE agreements SET last_name = 'Other'`, " has another student"},
		{"the time of acceptance", `UPDATE agreements SET accepted_ms = accepted_ms + 1`, " has another time of acceptance"},
		{"the account of the checkout", `UPDATE checkouts SET account_holder = 'Other'`, " has another account"},
		{"the record", `UPDATE evidence SET leaf = replace(leaf, '299000', '399000')`, "FAIL  the evidence log has another course_price_cents"},
		{"the salt of the record", `UPDATE evidence SET salt = zeroblob(32)`, "FAIL  the evidence log has another account_holder, account_mask, "},
		{"a record that was deleted", `DELETE FROM evidence`, "FAIL  the evidence log has no record of it"},
		{"the status and the agreement of the checkout", `UPDATE checkouts SET agreement_number = 'PPA-2026-000009', status = 'direct_debit_setup_required'`,
			" has another status, agreement"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := newOperator(t)
			number := o.confirmedOver(t)
			o.execute(t, tt.change)
			o.verifies(t, number, tt.want)
		})
	}
}
