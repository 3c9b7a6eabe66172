package fakemailbox_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/fakemailbox"
	"github.com/provider-checkout/provider-checkout/checkout"
)

func TestMailboxShowsWhatWasWrittenToPayers(t *testing.T) {
	m := fakemailbox.New("http://localhost:1", slog.New(slog.DiscardHandler))
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		m.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	if w := get(fakemailbox.Path); !strings.Contains(w.Body.String(), "There is no e-mail yet") {
		t.Errorf("an empty mailbox is %d %s", w.Code, w.Body)
	}
	for _, n := range []checkout.PayerNotice{
		{ID: "ntc_1", To: checkout.Addressee{Name: "Aroha <b>", Email: "aroha@example.nz"}, Subject: "Your direct debit", HTML: "<body><table>It is set up.</table>"},
		{ID: "ntc_2", Subject: "Your agreement", HTML: "<body><table>It is attached.</table>",
			Attachments: []checkout.Attachment{{Name: "agreement.pdf", MediaType: "application/pdf", Bytes: []byte("%PDF")}}},
	} {
		if _, err := m.Notify(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	list := get(fakemailbox.Path).Body.String()
	for _, want := range []string{`<a href="ntc_1">Your direct debit</a>`, "Aroha &lt;b&gt;", "aroha@example.nz", `<a href="ntc_2/attached/agreement.pdf">agreement.pdf</a>`} {
		if !strings.Contains(list, want) {
			t.Errorf("the list lacks %s:\n%s", want, list)
		}
	}
	_, style, _ := strings.Cut(list, `<link rel="stylesheet" href="`)
	style, _, _ = strings.Cut(style, `"`)
	if w := get(strings.TrimPrefix(style, "http://localhost:1")); w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/css") {
		t.Errorf("the style sheet %s is %d %s", style, w.Code, w.Header().Get("Content-Type"))
	}
	if strings.Index(list, "ntc_2") > strings.Index(list, "ntc_1") {
		t.Error("the newest is not the first")
	}
	if w := get(fakemailbox.Path + "ntc_1"); !strings.HasSuffix(w.Body.String(), `<a href="./">All e-mails</a></nav><table>It is set up.</table>`) || !strings.HasPrefix(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("the e-mail is %v %s", w.Header(), w.Body)
	}
	if body := get(fakemailbox.Path + "ntc_2").Body.String(); !strings.Contains(body, `<a href="ntc_2/attached/agreement.pdf">agreement.pdf</a>`) {
		t.Errorf("the e-mail does not lead to what is attached: %s", body)
	}
	if w := get(fakemailbox.Path + "ntc_2/attached/agreement.pdf"); w.Body.String() != "%PDF" || w.Header().Get("Content-Type") != "application/pdf" {
		t.Errorf("the attachment is %v %s", w.Header(), w.Body)
	}
	for _, path := range []string{fakemailbox.Path + "ntc_3", fakemailbox.Path + "ntc_3/attached/agreement.pdf", fakemailbox.Path + "ntc_1/attached/agreement.pdf"} {
		if w := get(path); w.Code != http.StatusNotFound {
			t.Errorf("%s is %d", path, w.Code)
		}
	}
}
