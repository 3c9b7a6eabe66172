package fakeprovider

import (
	"embed"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
)

// Paths of the website beside the paths to which the payer returns.
const (
	enrolPath   = "/enrol"
	confirmPath = "/confirm"
	againPath   = "/again"
	assetsPath  = "/assets/"
)

//go:embed *.html
var files embed.FS

// pages serves the website.
type pages struct {
	provider *Provider
	site     *web.Site
	handler  http.Handler
}

func newPages(p *Provider) pages {
	shared := p.shared()
	served := pages{provider: p, site: web.NewSite(shared, web.SiteConfig{Assets: assetsPath, Files: files})}
	served.handler = served.site.Handler(map[string]http.HandlerFunc{
		"GET " + CoursePath:   served.course,
		"POST " + enrolPath:   served.enrol,
		"GET " + DonePath:     served.done,
		"POST " + confirmPath: served.confirm,
		"POST " + againPath:   served.again,
		"GET " + ReturnedPath: served.returned,
	})
	return served
}

// course shows the course with the student's details and plan.
func (p pages) course(w http.ResponseWriter, r *http.Request) {
	p.show(w, r, "course.html", "Enrol in "+p.provider.Offer.CourseName, http.StatusOK, p.view())
}

// enrol opens the checkout and leads the student to its setup page.
func (p pages) enrol(w http.ResponseWriter, r *http.Request) {
	if _, ok := p.site.ReadForm(w, r); !ok {
		return
	}
	created, err := p.provider.create(r.Context())
	if err != nil {
		p.failed(w, r, err)
		return
	}
	p.site.Redirect(w, r, created.SetupURL())
}

// done shows how far the enrolment is: whether the direct debit is set up, what the student declares before the confirm,
// and the agreement after it. What is awaited is looked for again by the page itself, without a script.
func (p pages) done(w http.ResponseWriter, r *http.Request) {
	e := p.provider.snapshot()
	switch {
	case e.confirmed:
		if !e.complete() {
			w.Header().Set("Refresh", refreshAfter)
		}
		p.show(w, r, "enrolled.html", "You are enrolled", http.StatusOK, p.view())
		return
	case e.opened.Status == 0:
		p.site.Redirect(w, r, p.site.Path(CoursePath))
		return
	}
	ready, err := p.provider.setUp(r.Context(), e)
	switch {
	case err != nil:
		p.failed(w, r, err)
	case ready:
		p.show(w, r, "declare.html", declareTitle, http.StatusOK, p.view())
	default:
		w.Header().Set("Refresh", refreshAfter)
		p.show(w, r, "waiting.html", "Your direct debit is not set up yet", http.StatusOK, p.view())
	}
}

const declareTitle = "Confirm your enrolment"

// refreshAfter is the number of seconds after which a waiting page is loaded again.
const refreshAfter = "3"

// complete reports whether all events of a confirmed enrolment have arrived.
func (e enrolment) complete() bool {
	want := []string{"checkout.created", "checkout.confirmed"}
	if e.agreement.At("agreement.pdf_generated") == true {
		want = append(want, "agreement.generated")
	}
	return len(e.events) >= len(want)
}

// declaration is a declaration of the student before the confirm.
type declaration struct {
	Name  string // of the field
	Path  string // of the field in the body of the confirm
	Text  string
	Error string
	Given bool
	Focus bool // it is the first with an error
}

const depositField = "deposit_confirmed"

// declarations lists what the API asks for: of the payment first, then the others.
var declarations = []declaration{
	{Name: depositField, Path: "payment.deposit_confirmed", Text: "I know when my first payment is planned, and how much it is."},
	{Name: "payment_plan_accepted", Path: "declarations.payment_plan_accepted", Text: "I accept the payment plan."},
	{Name: "information_confirmed", Path: "declarations.information_confirmed", Text: "My details above are correct."},
	{Name: "privacy_consent_accepted", Path: "declarations.privacy_consent_accepted", Text: "I have read the privacy notice, and consent to it."},
}

// confirm confirms the enrolment with what is ticked. The API refuses it while a declaration is missing.
func (p pages) confirm(w http.ResponseWriter, r *http.Request) {
	form, ok := p.site.ReadForm(w, r)
	if !ok {
		return
	}
	declared := map[string]bool{}
	for _, d := range declarations {
		declared[d.Name] = web.One(form, d.Name) == "yes"
	}
	e := p.provider.snapshot()
	err := p.provider.confirm(r.Context(), e, declared)
	refusal, _ := errors.AsType[*refusal](err)
	switch {
	case err == nil:
		p.site.Redirect(w, r, p.site.Path(DonePath))
	case refusal != nil && refusal.Status == http.StatusBadRequest && refusal.aboutDeclarations():
		v := p.view()
		focused := false
		for i := range v.Declarations {
			d := &v.Declarations[i]
			if d.Given = declared[d.Name]; refusal.Fields[d.Path] != "" {
				d.Error = "Tick this to go on."
				d.Focus, focused = !focused, true
			}
		}
		p.show(w, r, "declare.html", "Error: "+declareTitle, http.StatusUnprocessableEntity, v)
	default:
		p.failed(w, r, err)
	}
}

// aboutDeclarations reports whether a declaration is among the fields that were refused.
func (r *refusal) aboutDeclarations() bool {
	for _, d := range declarations {
		if r.Fields[d.Path] != "" {
			return true
		}
	}
	return false
}

// again begins another enrolment of the same student.
func (p pages) again(w http.ResponseWriter, r *http.Request) {
	if _, ok := p.site.ReadForm(w, r); !ok {
		return
	}
	p.provider.again()
	p.site.Redirect(w, r, p.site.Path(CoursePath))
}

// returned shows where a payer of a checkout comes out that this website did not open.
func (p pages) returned(w http.ResponseWriter, r *http.Request) {
	p.show(w, r, "returned.html", "Back at the provider", http.StatusOK, p.view())
}

// failed says what the API answered.
func (p pages) failed(w http.ResponseWriter, r *http.Request, err error) {
	p.site.Log.LogAttrs(r.Context(), slog.LevelWarn, "call the API", slog.Any("error", err))
	v := p.view()
	v.Refusal, _ = errors.AsType[*refusal](err)
	p.show(w, r, "refused.html", "The API did not do that", http.StatusBadGateway, v)
}

// show answers with a page. Its form may lead to the service.
func (p pages) show(w http.ResponseWriter, r *http.Request, name, title string, status int, v view) {
	v.Title = strings.TrimPrefix(title, "Error: ")
	p.site.Show(w, r, name, web.View{
		Status:  status,
		Title:   title,
		Brand:   p.provider.Offer.Provider + " (make-believe)",
		Sandbox: true,
		FormsTo: []string{p.provider.apiOrigin()},
		Data:    v,
	})
}
