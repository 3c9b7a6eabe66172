package hostedpages_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// agreed returns a bench whose payer has an agreement.
func agreed(t *testing.T, set setting) *bench {
	t.Helper()
	b := newBench(t, set)
	b.setUp()
	b.confirm(order().First)
	return b
}

// on moves the clock to the last minute before midnight of a day in New Zealand.
func (b *bench) on(year int, month time.Month, day int) {
	b.t.Helper()
	b.now = time.Date(year, month, day, 23, 59, 0, 0, b.service.Zone())
}

func (b *bench) partPath(part string) string {
	return "/api/dd-setup/" + part + "?token=" + url.QueryEscape(b.token)
}

// The plan is 53 weekly payments, of Monday 1 February 2027 to Monday 31 January 2028.
func TestThePayersPageLivesUntilThreeMonthsAfterTheLastPayment(t *testing.T) {
	b := agreed(t, setting{})
	for _, tt := range []struct {
		name       string
		year       int
		month      time.Month
		day        int
		says, hide []string
	}{
		{"the day after the confirm", 2027, time.January, 22, []string{"$200.00 Payment 1 of 53, planned for Monday 1 February 2027."}, []string{"today"}},
		{"the day of a payment", 2027, time.February, 1, []string{"Payment 1 of 53, planned for today, Monday 1 February 2027."}, nil},
		{"the day after it", 2027, time.February, 2, []string{"$53.65 Payment 2 of 53, planned for Monday 8 February 2027."}, nil},
		{"a year after the confirm", 2028, time.January, 21, []string{"Payment 52 of 53, planned for Monday 24 January 2028."}, nil},
		{"after the last payment", 2028, time.February, 1, []string{"No more payments are planned",
			"The last payment was planned for Monday 31 January 2028."}, []string{"Next payment"}},
		{"three months after it", 2028, time.April, 30, []string{"The last payment was planned for Monday 31 January 2028."}, nil},
	} {
		b.on(tt.year, tt.month, tt.day)
		page := b.get(b.setupPath()).is(t, http.StatusOK)
		for _, want := range append(tt.says, "Your payment plan", "You can open this page until Sunday 30 April 2028, three months after the last payment.") {
			page.reads(t, want)
		}
		page.lacks(t, append(tt.hide, "<form", "at least")...)
	}
	b.on(2028, time.May, 1)
	for _, path := range []string{b.setupPath(), b.legalPath(), b.agreementPath(), b.partPath("agreement.pdf"), b.proofPath(), b.partPath("payments.ics")} {
		page := b.get(path).is(t, http.StatusGone)
		page.reads(t, "This page has ended")
		page.reads(t, "The last payment was planned for Monday 31 January 2028. The page was open for three months after that.")
		page.reads(t, "need a copy of your agreement "+b.stored().Confirmation.AgreementNumber+", ask Kōwhai Institute (help@kowhai.example).")
		page.lacks(t, "Hēmi", "01-0902", "$")
	}
	b.begin().is(t, http.StatusGone).wants(t, "This page has ended")
}

// Monday 8 February 2027 is Waitangi Day, on which a collector of business days takes no payment.
func TestThePayersPageNamesTheDayOnWhichAPaymentIsTaken(t *testing.T) {
	b := agreed(t, setting{terms: agreement.Terms{Authority: agreement.Authority{Calendar: money.BusinessDays}}})
	b.on(2027, time.February, 8)
	b.get(b.setupPath()).reads(t, "Payment 2 of 53, planned for Tuesday 9 February 2027. Monday 8 February is Waitangi Day: taken Tuesday 9.")
	if got := b.get(b.partPath("payments.ics")).body; !strings.Contains(got, ":20270209\r\n") || strings.Contains(got, "START;VALUE=DATE:20270208") {
		t.Errorf("the calendar has the payment on another day:\n%s", got)
	}
}

func TestThePayersPageSaysWhatWasAgreed(t *testing.T) {
	b := agreed(t, setting{terms: agreement.Terms{
		Lender:       agreement.Lender{Name: "Pūtea Limited", Address: "1 Lambton Quay, Wellington", Email: "plans@putea.example"},
		Cancellation: agreement.Cancellation{WorkingDays: 5, How: "Write to Pūtea Limited."},
		Hardship:     "0800 555 010",
		Authority:    agreement.Authority{Initiator: "Pūtea Limited", AuthorisationCode: "0123456", Statement: "PUTEA KOWHAI"}}})
	page := b.get(b.setupPath()).is(t, http.StatusOK)
	for _, want := range []string{"From the account01-0902-•••••89-00", "each payment shows as PUTEA KOWHAI", "by the authorisation code 0123456.",
		"Agreement" + b.stored().Confirmation.AgreementNumber, "Your enrolment for Diploma in Business at Kōwhai Institute is confirmed.",
		"before the day of the payment: Pūtea Limited (0800 555 010).", "If the account is not yours, tell Pūtea Limited (plans@putea.example) at once.",
		"You can cancel the plan until the end of Monday 1 February 2027. Write to Pūtea Limited.",
		"You can end the direct debit at any time: tell the bank or Pūtea Limited.", "Total to pay$2,990.00", "Questions? Write to help@kowhai.example."} {
		page.reads(t, strings.ReplaceAll(want, "\n", " "))
	}
	page.wants(t, `href="`+b.agreementPath()+`"`, `href="`+b.partPath("agreement.pdf")+`"`, `href="`+b.partPath("payments.ics")+`"`,
		`href="https://enrol.kowhai.example/done?from=bank"`, `data-notify="https://enrol.kowhai.example https://www.kowhai.example"`)
}

func TestWhomToAskWhenAPaymentCannotBeMade(t *testing.T) {
	for want, terms := range map[string]agreement.Terms{
		"Pūtea Limited (care@putea.example).":            {Lender: agreement.Lender{Name: "Pūtea Limited", Address: "x", Email: "plans@putea.example"}, Hardship: "care@putea.example"},
		"Pūtea Limited (https://putea.example/hardship)": {Lender: agreement.Lender{Name: "Pūtea Limited", Address: "x"}, Hardship: "https://putea.example/hardship"},
		"Pūtea Limited (plans@putea.example).":           {Lender: agreement.Lender{Name: "Pūtea Limited", Address: "x", Email: "plans@putea.example"}},
		"Kōwhai Institute (help@kowhai.example).":        {Lender: agreement.Lender{Name: "Pūtea Limited", Address: "x"}},
	} {
		b := agreed(t, setting{terms: terms})
		b.get(b.setupPath()).reads(t, "before the day of the payment: "+want)
	}
}

// The page of an agreement depends on the agreement alone.
func TestThePayersPageIsThereWhateverBecameOfTheProvider(t *testing.T) {
	off, other := kowhai(), kowhai()
	off.Active = false
	other.Code = "RIMU"
	for name, now := range map[string]catalogue.Provider{"switched off": off, "removed": other} {
		b := agreed(t, setting{})
		b.configure(now)
		b.failing = true // a processor may need the account of a provider that was removed
		page := b.get(b.setupPath())
		page.is(t, http.StatusOK)
		page.wants(t, "Your payment plan – Kōwhai Institute", "Sandbox.", "colour-1f6f54.css", "mailto:help@kowhai.example", "Lender: Pūtea Limited")
		if t.Failed() {
			t.Fatal(name)
		}
		for _, part := range []string{"agreement", "agreement.pdf", "payments.ics", "legal"} {
			b.get(b.partPath(part)).is(t, http.StatusOK)
		}
		b.on(2028, time.May, 1)
		b.get(b.setupPath()).is(t, http.StatusGone).wants(t, "This page has ended – Kōwhai Institute")
	}
}

func TestAMandateThatDiesAfterTheConfirmIsExplained(t *testing.T) {
	for reason, want := range map[string]string{
		"DISHONOUR-AC04": "The bank says that the account is closed.",
		"DISHONOUR-AG01": "The account holder or the bank has cancelled it.",
		"SOMETHING":      "It was cancelled: by the account holder, by the bank or by the payment processor.",
	} {
		b := agreed(t, setting{})
		b.poll()
		b.change(func(c *checkout.Checkout) { c.Setup.Mandate, c.Setup.MandateReason = checkout.MandateCancelled, reason })
		page := b.get(b.setupPath()).is(t, http.StatusOK)
		page.reads(t, "Your direct debit has ended "+want+" No payments can be taken with it any more. Your agreement has not ended: "+
			"ask Kōwhai Institute (help@kowhai.example) now how to make these payments.")
		page.wants(t, b.stored().Confirmation.AgreementNumber)
		page.reads(t, "Next payment in the plan")
		page.lacks(t, "<form", "nothing more to do", "at any time")
	}
}

func TestThePayerSavesTheAgreementThatWasRendered(t *testing.T) {
	b := agreed(t, setting{})
	got := b.get(b.partPath("agreement.pdf")).is(t, http.StatusOK)
	number := b.stored().Confirmation.AgreementNumber
	if got.body != "%PDF" {
		t.Errorf("the document is %q", got.body)
	}
	for header, want := range map[string]string{"Content-Type": "application/pdf", "Cache-Control": "no-store",
		"Content-Disposition": `attachment; filename="` + number + `.pdf"`, "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex, nofollow"} {
		if got.header.Get(header) != want {
			t.Errorf("%s: %q, want %q", header, got.header.Get(header), want)
		}
	}
	b.store.document = func(d *agreement.Document) { d.Bytes = []byte("%PDF of another") }
	b.get(b.partPath("agreement.pdf")).is(t, http.StatusInternalServerError).lacks(t, "another")
	if !strings.Contains(b.log.String(), "does not have its hash") {
		t.Errorf("the log does not say so:\n%s", &b.log)
	}
	b.get("/api/dd-setup/agreement.pdf?token=unknown").is(t, http.StatusNotFound)
	b.do(http.MethodPost, b.partPath("agreement.pdf"), "").is(t, http.StatusMethodNotAllowed)
}

func TestWithoutADocumentTheAgreementIsAPage(t *testing.T) {
	b := newBench(t, setting{printer: blunt{}})
	b.failing = true
	b.setUp()
	if at := b.get(b.partPath("payments.ics")).is(t, http.StatusSeeOther).header.Get("Location"); at != b.setupPath() {
		t.Errorf("before the confirm the calendar leads to %q, want the setup page", at)
	}
	b.confirm(order().First)
	if at := b.get(b.partPath("agreement.pdf")).is(t, http.StatusSeeOther).header.Get("Location"); at != b.agreementPath() {
		t.Errorf("it leads to %q, want the agreement's page", at)
	}
	b.get(b.setupPath()).lacks(t, "agreement.pdf")
	b.get(b.agreementPath()).wants(t, "print it or save it with your browser")
}

// unfolded returns the lines of a calendar file, and reports what no calendar may read (RFC 5545, section 3.1).
func unfolded(t *testing.T, file string) []string {
	t.Helper()
	body, ended := strings.CutSuffix(file, "\r\n")
	lines := strings.Split(body, "\r\n")
	if !ended || strings.ContainsAny(strings.Join(lines, ""), "\r\n") {
		t.Errorf("lines do not end in CRLF:\n%q", file)
	}
	for _, line := range lines {
		if len(line) > 75 {
			t.Errorf("a line has %d octets: %q", len(line), line)
		}
	}
	return strings.Split(strings.ReplaceAll(body, "\r\n ", ""), "\r\n")
}

func TestThePayerSavesThePaymentsForACalendar(t *testing.T) {
	create := order()
	create.CourseName = checkout.Some(strings.Repeat("Tohu Mātauranga; ", 12) + `a, b \ c`)
	b := agreed(t, setting{create: create})
	got := b.get(b.partPath("payments.ics")).is(t, http.StatusOK)
	number := b.stored().Confirmation.AgreementNumber
	for header, want := range map[string]string{"Content-Type": "text/calendar; charset=utf-8", "Cache-Control": "no-store",
		"Content-Disposition": `attachment; filename="` + number + `.ics"`} {
		if got.header.Get(header) != want {
			t.Errorf("%s: %q, want %q", header, got.header.Get(header), want)
		}
	}
	lines := unfolded(t, got.body)
	a, err := b.store.Agreement(t.Context(), number)
	if err != nil {
		t.Fatal(err)
	}
	if want := 3 + 9*len(a.Payments()) + 1; len(lines) != want || lines[0] != "BEGIN:VCALENDAR" || lines[1] != "VERSION:2.0" || lines[want-1] != "END:VCALENDAR" {
		t.Fatalf("%d lines, want %d of a calendar", len(lines), want)
	}
	compact := func(d money.Date) string { return strings.ReplaceAll(d.String(), "-", "") }
	stamp := a.AcceptedAt.Format("20060102T150405Z")
	for i, payment := range a.Payments() {
		event := strings.Join(lines[3+9*i:3+9*(i+1)], "\n")
		sequence := strings.TrimPrefix(strings.Split(event, "\n")[1], "UID:"+number+"-")
		for _, want := range []string{"BEGIN:VEVENT\n", "\nDTSTAMP:" + stamp + "\n", "\nDTSTART;VALUE=DATE:" + compact(payment.Taken) + "\n",
			"\nDTEND;VALUE=DATE:" + compact(payment.Taken.AddDays(1)) + "\n", "Direct debit of " + payment.Amount.Dollars() + " for Tohu Mātauranga\\; ",
			`a\, b \\ c`, "of 53 to Kōwhai Institute\\, agreement " + number, "\nEND:VEVENT"} {
			if !strings.Contains(event, want) {
				t.Errorf("payment %d lacks %q:\n%s", payment.Sequence, want, event)
			}
		}
		if !strings.HasSuffix(sequence, "@provider-checkout") || strings.Contains(strings.Join(lines[:3+9*i], "\n"), "UID:"+number+"-"+sequence+"\n") {
			t.Errorf("payment %d has the UID %q", payment.Sequence, sequence)
		}
	}
	b.on(2028, time.April, 30)
	if again := b.get(b.partPath("payments.ics")); again.body != got.body {
		t.Error("the same agreement gives another file later")
	}
}
