package hostedpages_test

import (
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprocessor"
)

// answer is an HTTP response, read to its end.
type answer struct {
	status int
	header http.Header
	body   string
}

// do sends a request to the pages that its path belongs to, after change has had its way with it.
func (b *bench) do(method, target, form string, change ...func(*http.Request)) answer {
	r := httptest.NewRequest(method, strings.TrimPrefix(target, baseURL), strings.NewReader(form))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, f := range change {
		f(r)
	}
	handler := b.hosted
	if strings.Contains(r.URL.Path, fakeprocessor.Prefix+"/") {
		handler = b.fake
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	body, _ := io.ReadAll(w.Result().Body)
	return answer{w.Code, w.Result().Header, string(body)}
}

func (b *bench) get(target string) answer { return b.do(http.MethodGet, target, "") }

// begin posts the setup page's form.
func (b *bench) begin(change ...func(*http.Request)) answer {
	form := url.Values{"token": {b.token}}
	if page, err := b.service.SetupPage(b.t.Context(), b.token); err == nil {
		form.Set("terms", page.Disclosure().Name())
	}
	return b.do(http.MethodPost, "/api/dd-setup", form.Encode(), change...)
}

// text is the page without the marks around names.
func (a answer) text() string {
	return strings.NewReplacer("<bdi translate=\"no\">", "", "</bdi>", "").Replace(a.body)
}

// wants reports what a text lacks.
func (a answer) wants(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(a.text(), text) {
			t.Errorf("the page lacks %q:\n%s", text, a.body)
		}
	}
}

// reads reports a sentence that a page does not say; line breaks and markup within the sentence do not count.
func (a answer) reads(t *testing.T, sentence string) {
	t.Helper()
	words := strings.Join(strings.Fields(html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(a.body, ""))), " ")
	if !strings.Contains(words, sentence) {
		t.Errorf("the page does not say %q:\n%s", sentence, words)
	}
}

// lacks reports what a text must not hold.
func (a answer) lacks(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(a.text(), text) {
			t.Errorf("the page holds %q:\n%s", text, a.body)
		}
	}
}

// is reports another status than the wanted one, and returns the answer.
func (a answer) is(t *testing.T, want int) answer {
	t.Helper()
	if a.status != want {
		t.Errorf("status = %d, want %d:\n%s", a.status, want, a.body)
	}
	return a
}
