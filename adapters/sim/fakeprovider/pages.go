package fakeprovider

import (
	"embed"
	"log/slog"
	"net/http"
	"net/url"
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
	shared := web.Options{Log: p.Log, BaseURL: p.BaseURL}.Complete()
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
	if err := p.provider.Open(r.Context()); err != nil {
		p.failed(w, r, err)
		return
	}
	p.site.Redirect(w, r, p.provider.snapshot().opened.SetupURL())
}

// done shows how far the enrolment is: whether the direct debit is set up, what the student declares before the confirm,
// and the agreement after it. What is awaited is looked for again by the page itself, without a script.
func (p pages) done(w http.ResponseWriter, r *http.Request) {
	e := p.provider.snapshot()
	switch {
	case e.confirmed.Status != 0:
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
	if e.confirmed.At("agreement.pdf_generated") == true {
		want = append(want, "agreement.generated")
	}
	return len(e.events) >= len(want)
}

// declaration is a declaration of the student before the confirm.
type declaration struct {
	Name  string // of the field
	path  string // of the field in the body of the confirm
	Text  string
	Given bool
}

// declarations lists what the API asks for.
func declarations() []declaration {
	return []declaration{
		{Name: "deposit_confirmed", path: "payment.deposit_confirmed", Text: "I know when my first payment is planned, and how much it is."},
		{Name: "payment_plan_accepted", path: "declarations.payment_plan_accepted", Text: "I accept the payment plan."},
		{Name: "information_confirmed", path: "declarations.information_confirmed", Text: "My details above are correct."},
		{Name: "privacy_consent_accepted", path: "declarations.privacy_consent_accepted", Text: "I have read the privacy notice, and consent to it."},
	}
}

// confirm confirms the enrolment with what is ticked. The API refuses it while a declaration is missing.
func (p pages) confirm(w http.ResponseWriter, r *http.Request) {
	form, ok := p.site.ReadForm(w, r)
	if !ok {
		return
	}
	v := p.view()
	for i := range v.Declarations {
		d := &v.Declarations[i]
		if d.Given = web.One(form, d.Name) == "yes"; !d.Given && v.FirstMissing == "" {
			v.FirstMissing = d.Name
		}
	}
	answer, err := p.provider.confirm(r.Context(), p.provider.snapshot(), v.Declarations)
	switch {
	case err == nil:
		p.site.Redirect(w, r, p.site.Path(DonePath))
	case answer.Status == http.StatusBadRequest && v.FirstMissing != "":
		p.show(w, r, "declare.html", "Error: "+declareTitle, http.StatusUnprocessableEntity, v)
	default:
		p.failed(w, r, err)
	}
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

// failed shows the API's answer.
func (p pages) failed(w http.ResponseWriter, r *http.Request, err error) {
	p.site.Log.LogAttrs(r.Context(), slog.LevelWarn, "call the API", slog.Any("error", err))
	v := p.view()
	v.Failure = err.Error()
	p.show(w, r, "refused.html", "The API did not do that", http.StatusBadGateway, v)
}

// view is the data of the pages.
type view struct {
	Title string // the heading
	Offer
	Order   string
	SetUpAt string // address of the setup page; "" before the create

	FirstDay                                         string // of the first payment, in words
	Upfront, Instalments, Instalment, LastInstalment string // as the API answers; "" before the create

	Declarations []declaration
	FirstMissing string // the name of the first declaration that was not given, on a form that was refused
	Confirmed    bool
	Agreement    string // its number
	Complete     bool   // all events have arrived
	Events       []Event
	Failure      string // of a call of the API

	Docs, Privacy, Desk, Mailbox          string // addresses of the service and of the mailbox
	Course, Enrol, Done, Confirm, AgainAt string // addresses of the website
}

// view returns the view of the current enrolment.
func (p pages) view() view {
	e := p.provider.snapshot()
	return view{
		Offer:       p.provider.Offer,
		Order:       e.order,
		SetUpAt:     e.opened.SetupURL(),
		FirstDay:    p.provider.Offer.FirstPayment.Long(),
		Upfront:     e.opened.String("pricing.upfront_payment"),
		Instalments: e.opened.String("plan.number_of_instalments"), Instalment: e.opened.String("plan.instalment_amount"),
		LastInstalment: e.opened.String("plan.final_instalment_amount"),

		Declarations: declarations(),
		Confirmed:    e.confirmed.Status != 0,
		Agreement:    e.confirmed.String("agreement.number"),
		Complete:     e.complete(),
		Events:       e.events,
		Docs:         p.provider.API + "/docs",
		Desk:         p.provider.Desk,
		Mailbox:      p.provider.Mailbox,
		Privacy:      p.provider.API + "/api/dd-setup/privacy",
		Course:       p.site.Path(CoursePath),
		Enrol:        p.site.Path(enrolPath),
		Done:         p.site.Path(DonePath),
		Confirm:      p.site.Path(confirmPath),
		AgainAt:      p.site.Path(againPath),
	}
}

// show answers with a page. Its form may lead to the service.
func (p pages) show(w http.ResponseWriter, r *http.Request, name, title string, status int, v view) {
	origin := p.provider.API
	if u, err := url.Parse(origin); err == nil {
		origin = u.Scheme + "://" + u.Host
	}
	v.Title = strings.TrimPrefix(title, "Error: ")
	p.site.Show(w, r, name, web.View{
		Status:  status,
		Title:   title,
		Brand:   p.provider.Offer.Provider + " (make-believe)",
		Sandbox: true,
		FormsTo: []string{origin},
		Data:    v,
	})
}

func (p pages) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.handler.ServeHTTP(w, r) }
