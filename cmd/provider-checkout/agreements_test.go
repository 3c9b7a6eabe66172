package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// failing is a printer that always fails.
type failing struct{}

func (failing) SignedBy() string { return "" }

func (failing) Print(context.Context, agreement.Agreement) ([]byte, error) {
	return nil, errors.New("no font")
}

var _ ports.Printer = failing{}

// withoutPDF makes the confirms of a sandbox render no PDF.
func withoutPDF(c *service.Config, _ *httpapi.Options) { c.Printer = failing{} }

func TestAgreementPDFIsReadableByItsOwnerOnly(t *testing.T) {
	o := newOperator(t)
	number := o.confirmedOver(t)
	out := filepath.Join(t.TempDir(), "agreement.pdf")
	if err := os.WriteFile(out, []byte("an older file that all users may read"), 0o644); err != nil {
		t.Fatal(err)
	}
	stdout, stderr := o.does(t, "agreements", "pdf", number, "--out", out)
	data, err := os.ReadFile(out)
	if err != nil || !bytes.HasPrefix(data, []byte("%PDF-")) || stdout != "" || !strings.HasPrefix(stderr, "wrote "+out) {
		t.Errorf("wrote %.20q, %v; stdout %q, stderr %q", data, err, stdout, stderr)
	}
	if info, err := os.Stat(out); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
}

// mistyped returns an agreement number with a wrong check character, and with a character that no number has.
func mistyped(number string) []string {
	last, wrong := number[len(number)-1:], "0"
	if last == wrong {
		wrong = "1"
	}
	without := strings.TrimSuffix(number, last)
	return []string{without + wrong, without[:len(without)-1] + "O" + last}
}

func TestAgreementPDFIsRefused(t *testing.T) {
	o := newOperator(t)
	number := o.confirmedOver(t)
	dir := t.TempDir()
	o.fails(t, `there is no agreement "PPA-1999-000001"`, "agreements", "pdf", "PPA-1999-000001", "--out", filepath.Join(dir, "a.pdf"))
	for _, typo := range mistyped(number) {
		o.fails(t, "the number is mistyped", "agreements", "pdf", typo, "--out", filepath.Join(dir, "a.pdf"))
	}
	o.fails(t, `there is no agreement "lost"`, "agreements", "pdf", "lost", "--out", filepath.Join(dir, "a.pdf"))
	o.fails(t, "is not a regular file", "agreements", "pdf", number, "--out", dir)
	o.fails(t, "no such file", "agreements", "pdf", number, "--out", filepath.Join(dir, "none", "a.pdf"))
	o.execute(t, `UPDATE documents SET bytes = CAST(bytes || x'20' AS BLOB)`)
	o.fails(t, "does not have the SHA-256 on record", "agreements", "pdf", number, "--out", filepath.Join(dir, "a.pdf"))
	o.execute(t, `DELETE FROM documents`)
	o.fails(t, "has no PDF", "agreements", "pdf", number, "--out", filepath.Join(dir, "a.pdf"))
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v are left, %v; want nothing", left, err)
	}
}

func TestAPDFIsWrittenWithoutItsFacts(t *testing.T) {
	o := newOperator(t)
	number := o.confirmedOver(t)
	o.execute(t, `UPDATE agreements SET facts = 'damaged'`)
	o.fails(t, "read agreement "+number, "agreements", "verify", number)
	o.does(t, "agreements", "pdf", number, "--out", filepath.Join(t.TempDir(), "a.pdf"))
}

func TestVerifyFindsWhatDiffers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, edit, want string }{
		{"nothing", `SELECT 1`, ""},
		{"the PDF", `UPDATE documents SET bytes = CAST(bytes || x'20' AS BLOB)`, "the PDF does not have the SHA-256 on record"},
		{"the PDF is lost", `DELETE FROM documents`, "the PDF of the confirm is not on record"},
		{"the price", `UPDATE agreements SET facts = json_set(facts, '$.pricing.course_price', 100)`, "the figures: "},
		{"the price of the checkout", `UPDATE checkouts SET price_cents = price_cents + 100`, "the checkout states otherwise: pricing.amount_to_finance, pricing.course_price"},
		{"the time", `UPDATE agreements SET facts = json_set(facts, '$.accepted_at', '2026-01-01T00:00:00.000Z')`,
			"the checkout states otherwise: accepted_at"},
		{"the student on record twice", `UPDATE checkouts SET first_name = 'Ana'; UPDATE agreements SET facts = json_set(facts, '$.student.first_name', 'Ana')`,
			"the PDF states otherwise: student.first_name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newOperator(t)
			number := o.confirmedOver(t)
			o.execute(t, tt.edit)
			got := o.try(t, "agreements", "verify", number)
			if tt.want == "" {
				if got.code != exitDone || got.stderr != "" || strings.Contains(got.stdout, "FAIL") || strings.Count(got.stdout, number+"  ok  ") != 5 ||
					strings.Count(got.stdout, "charges of the schedule") != 1 {
					t.Errorf("verify = %+v, want five checks that pass, each printed once", got)
				}
				return
			}
			if got.code != exitFailed || !strings.Contains(got.stdout, number+"  FAIL  "+tt.want) || !strings.Contains(got.stderr, "failed: ") {
				t.Errorf("verify = %+v, want status 1 and a check that says %q", got, tt.want)
			}
		})
	}
}

// Whoever changes a column of a checkout that the agreement states has its name printed. The others say nothing of what was agreed.
func TestVerifyNamesEveryColumnThatTheAgreementStates(t *testing.T) {
	const unstated = ""
	columns := map[string]string{
		"id": "checkout_id", "provider_code": "there is no agreement", "provider_order_id": "provider_order_id", "request_id": "request_ids.create",
		"first_name": "student.first_name", "last_name": "student.last_name", "email": "student.email",
		"course_code": "course.course_code", "course_name": "course.course_name", "price_cents": "pricing.course_price",
		"upfront_cents": "pricing.upfront_payment", "frequency": "plan.payment_frequency", "number": "plan.number_of_instalments",
		"instalment_cents": "plan.instalment_amount", "final_cents": "plan.final_instalment_amount",
		"mandate_id": "direct_debit.mandate_id", "account_holder": "direct_debit.account_holder_name",
		"account_mask": "direct_debit.account_mask", "setup_completed_ms": "direct_debit.authorised_at", "consent": "direct_debit.consent.from",
		"confirmed_ms": "accepted_at", "confirmed_by_request_id": "request_ids.confirm", "agreed_first_payment": "plan.first_payment_date",
		"agreement_number": "agreement_number", "document_sha256": "the PDF of the confirm is not on record",

		"place": unstated, "idempotency_key": unstated, "status": unstated, "created_ms": unstated, "search": unstated, "billing_request_id": unstated,
		"mandate_status": unstated, "mandate_since_ms": unstated, "ended": unstated, "attention_ms": unstated, "revision": unstated,
		"created_by": unstated, "first_payment": unstated, "setup_tokens": unstated, "setup_try": unstated, "billing_request_status": unstated,
		"mandate": unstated, "authorisation_status": unstated, "erased_ms": unstated,
	}
	values := map[string]string{"consent": `json_set(consent, '$.from', '192.0.2.9')`, "frequency": `'Monthly'`, "agreed_first_payment": `'2027-03-01'`,
		"document_sha256": `zeroblob(32)`}
	o := newOperator(t)
	o.confirmedOver(t)
	tables := []string{"checkouts", "agreements", "documents"}
	for _, table := range tables {
		o.execute(t, `CREATE TABLE kept_`+table+` AS SELECT * FROM `+table)
	}
	for _, column := range o.column(t, `SELECT name FROM pragma_table_info('checkouts')`) {
		want, known := columns[column]
		switch {
		case !known:
			t.Errorf("nobody says whether an agreement states the column %s", column)
			continue
		case want == unstated:
			continue
		}
		for _, table := range tables {
			o.execute(t, `DELETE FROM `+table+`; INSERT INTO `+table+` SELECT * FROM kept_`+table)
		}
		value, special := values[column]
		if !special {
			value = `CASE typeof(` + column + `) WHEN 'text' THEN ` + column + ` || 'x' ELSE ` + column + ` + 1 END`
		}
		o.execute(t, `UPDATE checkouts SET `+column+` = `+value)
		if column == "id" || column == "provider_code" { // the rows go with it
			o.execute(t, `UPDATE agreements SET checkout_id = (SELECT id FROM checkouts), provider_code = (SELECT provider_code FROM checkouts);
				UPDATE documents SET checkout_id = (SELECT id FROM checkouts), provider_code = (SELECT provider_code FROM checkouts)`)
		}
		got := o.try(t, "agreements", "verify", "--all")
		if got.code != exitFailed || !strings.Contains(got.stdout+got.stderr, want) {
			t.Errorf("after a change of %s verify says %+v, want %q", column, got, want)
		}
	}
}

// A mandate that the processor has put in the place of another is on record, and no fault.
func TestVerifyTakesAMandateThatWasReplaced(t *testing.T) {
	o := newOperator(t)
	number := o.confirmedOver(t)
	o.execute(t, `UPDATE checkouts SET mandate_id = 'MD9'`)
	if got := o.try(t, "agreements", "verify", number); got.code != exitFailed {
		t.Errorf("before that is on record: %+v", got)
	}
	o.execute(t, `INSERT INTO moments SELECT provider_code, id, 'm', 9999999999999999, confirmed_ms + 1, 'mandate_changed', 'processor', '',
		'another mandate active', 1 FROM checkouts`)
	says(t, o.prints(t, "agreements", "verify", number), "the agreement states what the checkout does; the processor replaced its mandate on ")
	o.execute(t, `UPDATE checkouts SET mandate_id = 'MD9', price_cents = price_cents + 100`)
	if got := o.try(t, "agreements", "verify", number); got.code != exitFailed || !strings.Contains(got.stdout, "pricing.course_price") {
		t.Errorf("with another price: %+v", got)
	}
}

func TestVerifyTakesOneAgreementOrAll(t *testing.T) {
	o := newOperator(t)
	numbers := append(o.confirmAll(t, []string{"ENROL-1", "ENROL-2"}), o.confirmAll(t, []string{"ENROL-3"}, withoutPDF)...)
	out := o.prints(t, "agreements", "verify", "--all")
	for i, number := range numbers {
		if got, want := strings.Count(out, number+"  ok  "), [...]int{5, 5, 3}[i]; got != want {
			t.Errorf("%s has %d checks that pass, want %d, in\n%s", number, got, want, out)
		}
	}
	says(t, out, numbers[2]+"  ok  no PDF was rendered at the confirm")
	o.execute(t, `DELETE FROM documents WHERE checkout_id = (SELECT checkout_id FROM agreements WHERE number = ?)`, numbers[1])
	if got := o.try(t, "agreements", "verify", "--all"); got.code != exitFailed || strings.Count(got.stdout, "FAIL") != 1 ||
		!strings.HasSuffix(got.stderr, "failed: 1 check\n") {
		t.Errorf("verify --all = %+v, want one check that fails", got)
	}
	o.fails(t, `there is no agreement "PPA-1999-1"`, "agreements", "verify", "PPA-1999-1")
	for _, args := range [][]string{{"agreements", "verify"}, {"agreements", "verify", numbers[0], "--all"}} {
		o.try(t, args...).refuses(t, exitUsage, "name one agreement, or give --all, or --file")
	}
}

// Whoever may write to every table but has no key cannot give one student the PDF of another.
func TestVerifyFindsPDFsThatWereSwapped(t *testing.T) {
	o := newOperator(t)
	numbers := o.confirmAll(t, []string{"ENROL-1", "ENROL-2"})
	for _, statement := range []string{`CREATE TABLE kept AS SELECT * FROM documents`,
		`UPDATE documents SET bytes = (SELECT bytes FROM kept WHERE kept.checkout_id <> documents.checkout_id),
			sha256 = (SELECT sha256 FROM kept WHERE kept.checkout_id <> documents.checkout_id)`,
		`UPDATE checkouts SET document_sha256 = (SELECT sha256 FROM documents WHERE documents.checkout_id = checkouts.id)`} {
		o.execute(t, statement)
	}
	got := o.try(t, "agreements", "verify", "--all")
	for _, number := range numbers {
		if !strings.Contains(got.stdout, number+"  FAIL  the PDF states otherwise: accepted_at, agreement_number, checkout_id") {
			t.Errorf("verify = %+v, want that the PDF of %s is another's", got, number)
		}
	}
}

// The operator's certificate is enough to verify a payer's copy. Verification fails if the copy was changed or has another signer. Without
// the certificate, verify reports that the signer was not checked.
func TestVerifyTakesACopyThatSomebodyKept(t *testing.T) {
	o := newOperator(t)
	number := o.confirmedOver(t)
	path := filepath.Join(t.TempDir(), "mine.pdf")
	o.does(t, "agreements", "pdf", number, "--out", path)
	store := o.path
	alone := func(args ...string) result {
		return try(t, nil, "", append([]string{"agreements", "verify", "--file", path}, args...)...)
	}
	if got := alone(); got.code != exitDone || strings.Count(got.stdout, number+"  ok  ") != 2 {
		t.Errorf("without a store: %+v, want two checks that pass", got)
	} else {
		says(t, got.stdout, number+"  not checked  the signer names itself CN=", "compared with no certificate of yours: "+signerVariable+" is not set")
	}
	const agreed = "-----BEGIN CERTIFICATE-----"
	_, certificate, _ := strings.Cut(signing(t), agreed)
	if got := try(t, []string{signerVariable + "=" + agreed + certificate}, "", "agreements", "verify", "--file", path); got.code != exitFailed ||
		!strings.Contains(got.stdout, number+"  FAIL  the PDF is signed by somebody else: CN=") {
		t.Errorf("with the certificate of another: %+v", got)
	}
	if got := alone("--store", "sqlite:"+store); got.code != exitDone || !strings.Contains(got.stdout, "it is the PDF of the confirm") {
		t.Errorf("with its store: %+v", got)
	}
	document, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	document[1000] ^= 1
	if err := os.WriteFile(path, document, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := alone(); got.code != exitFailed || !strings.Contains(got.stdout, "it was changed after it was signed") {
		t.Errorf("of a changed copy: %+v", got)
	}
}

// The facts of an agreement are as their schema says, which names every one of them.
func TestTheFactsAreAsTheirSchemaSays(t *testing.T) {
	text, err := os.ReadFile("../../testdata/schema/agreement.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema openapi3.Schema
	if err := schema.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	stated := sample.Agreement(52)
	stated.Terms.DefaultFees = agreement.FeeList{Stated: true, Fees: []agreement.Fee{{Name: "Late payment", Amount: 10_00, When: "for each"}}}
	stated.Terms.Blocks = []agreement.Block{{Title: "Hardship", Text: "Tell us."}}
	for name, a := range map[string]agreement.Agreement{"plain": sample.Agreement(4), "with terms": stated, "erased": stated.Erased()} {
		var facts any
		if err := json.Unmarshal(a.Facts(), &facts); err != nil {
			t.Fatal(err)
		}
		if err := schema.VisitJSON(facts, openapi3.MultiErrors()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		facts.(map[string]any)["other"] = true
		if schema.VisitJSON(facts) == nil {
			t.Errorf("%s: the schema takes a fact that it does not know", name)
		}
	}
}
