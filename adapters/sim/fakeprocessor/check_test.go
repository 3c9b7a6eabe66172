package fakeprocessor_test

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/processortest"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprocessor"
)

// records counts what the processor keeps.
type records struct {
	fakeprocessor.Records
	kept int
}

func (r *records) KeepSandboxRecord(ctx context.Context, name string, data []byte) error {
	r.kept++
	return r.Records.KeepSandboxRecord(ctx, name, data)
}

// forms returns the hidden fields of each form of a page, and its button's value as that of its name.
func forms(body string) (all []url.Values) {
	for _, form := range regexp.MustCompile(`(?s)<form.*?</form>`).FindAllString(body, -1) {
		fields := url.Values{}
		for _, input := range regexp.MustCompile(`(?:type="hidden"|type="submit") name="([^"]*)" value="([^"]*)"`).FindAllStringSubmatch(form, -1) {
			fields.Set(input[1], strings.NewReplacer("&#39;", "'", "&amp;", "&").Replace(input[2]))
		}
		all = append(all, fields)
	}
	return all
}

func TestThePayerChecksWhatWasReadBeforeItTakesEffect(t *testing.T) {
	b := newBench(t)
	kept := &records{Records: b.store}
	b.processor = fakeprocessor.New(fakeprocessor.Options{Records: kept, BaseURL: processortest.BaseURL, Now: func() time.Time { return b.now }})
	typed := b.filled("account_holder_name", "  Ana O'Tau & Co ", "account_number", "123140017132350", "step", "check")
	page := b.do(http.MethodPost, b.request.URL, typed)
	body := page.Body.String()
	if page.Code != http.StatusOK || !b.open() || kept.kept != 0 {
		t.Fatalf("status = %d, open %v, %d records; want 200, nothing set up and nothing kept", page.Code, b.open(), kept.kept)
	}
	for _, want := range []string{"<h1>Check your details</h1>", "<bdi translate=\"no\">Ana O&#39;Tau &amp; Co</bdi>", ">12-3140-0171323-50</span>", ">ASB<",
		"<bdi translate=\"no\">Welding</bdi> at <bdi translate=\"no\">Rimu College</bdi>: first $200.00, planned for Monday 1 February 2027", "no one else has to sign",
		"debit my account with the amounts of direct debits from <bdi translate=\"no\">Rimu Collections</bdi>, with the authorisation code 0123456,", "shows as particulars RIMU.",
		"120 calendar days"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q:\n%s", want, body)
		}
	}
	if cache := page.Header().Get("Cache-Control"); cache != "no-store" {
		t.Errorf("Cache-Control = %q, want no-store", cache)
	}
	for _, at := range regexp.MustCompile(`(?:href|src|action)="([^"]*)"`).FindAllStringSubmatch(body, -1) {
		if strings.Contains(at[1], "0171323") {
			t.Errorf("the account number is in the address %q", at[1])
		}
	}
	all := forms(body)
	if len(all) != 2 {
		t.Fatalf("the page has the forms %v, want two", all)
	}
	again := b.do(http.MethodPost, b.request.URL, all[1])
	if again.Code != http.StatusOK || !b.open() || strings.Contains(again.Body.String(), `role="alert"`) {
		t.Errorf("change = %d, open %v; want the form:\n%s", again.Code, b.open(), again.Body)
	}
	for _, want := range []string{`value="  Ana O&#39;Tau &amp; Co "`, `value="12-3140-0171323-50"`, " checked"} {
		if !strings.Contains(again.Body.String(), want) {
			t.Errorf("the form to change lacks %q:\n%s", want, again.Body)
		}
	}
}

func TestWhatIsConfirmedIsReadAnew(t *testing.T) {
	b := newBench(t)
	confirm := forms(b.do(http.MethodPost, b.request.URL, b.filled("step", "check")).Body.String())[0]
	altered := url.Values{}
	for name := range confirm {
		altered.Set(name, confirm.Get(name))
	}
	altered.Set("account_number", "01-0902-0068398-00") // a digit swapped
	if got := b.do(http.MethodPost, b.request.URL, altered); got.Code != http.StatusUnprocessableEntity || !b.open() {
		t.Errorf("an altered form answers %d, want 422 and nothing set up", got.Code)
	}
	b.send(b.request.URL, confirm)
	if got := b.observe(); got.AccountHolder != "Ana Tau" || got.AccountMask != "12-3140-•••••23-50" {
		t.Errorf("setup = %+v, want what was confirmed", got)
	}
}

func TestAFormWithAMistakeIsNotShownToBeChecked(t *testing.T) {
	b := newBench(t)
	got := b.do(http.MethodPost, b.request.URL, b.filled("account_number", "12-3140", "step", "check"))
	body := withoutMarks(got.Body.String())
	if got.Code != http.StatusUnprocessableEntity || !strings.Contains(body,
		"<title>Error: The account number must be 15 or 16 digits, such as 01-0902-0068389-00 – Bank details – ") {
		t.Errorf("status %d, want 422 and the mistake in the title:\n%s", got.Code, body)
	}
}
