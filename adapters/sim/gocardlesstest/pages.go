package gocardlesstest

import (
	"embed"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
)

//go:embed *.html flow.css
var files embed.FS

// pages serves the hosted page of a flow: the payer's details, the account, a look at both, and the confirmation.
type pages struct {
	sim     *Simulator
	site    *web.Site
	handler http.Handler
}

func newPages(s *Simulator) pages {
	shared := web.Options{Log: s.options.Log, BaseURL: s.options.PublicURL, Now: s.Now}.Complete()
	p := pages{sim: s, site: web.NewSite(shared, web.SiteConfig{Assets: assetsPath, Files: files})}
	p.handler = p.site.Handler(map[string]http.HandlerFunc{
		"GET " + flowPath + "{flow}":          p.showDetails,
		"GET " + flowPath + "{flow}/details":  p.showDetails,
		"POST " + flowPath + "{flow}/details": p.takeDetails,
		"GET " + flowPath + "{flow}/account":  p.showAccount,
		"POST " + flowPath + "{flow}/account": p.takeAccount,
		"GET " + flowPath + "{flow}/check":    p.showCheck,
		"POST " + flowPath + "{flow}/check":   p.confirm,
		"POST " + flowPath + "{flow}/exit":    p.exit,
	})
	return p
}

// ServeHTTP implements http.Handler.
func (p pages) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.handler.ServeHTTP(w, r) }

// visit is a payer's request: copies of the flow and its billing request, as they were when it came.
type visit struct {
	flow     flow
	request  billingRequest
	creditor Creditor
	problem  string // why there is nothing to fill in: one of the keys of closedPages, or ""
}

// at returns the address of a step.
func (v visit) at(step string) string { return flowPath + v.flow.id + "/" + step }

// formsTo lists the origins to which the page's forms lead in the end.
func (v visit) formsTo() []string {
	var origins []string
	for _, address := range []string{v.flow.redirectURI, v.flow.exitURI} {
		if origin := originOf(address); origin != "" && !slices.Contains(origins, origin) {
			origins = append(origins, origin)
		}
	}
	return origins
}

// originOf returns the origin of an address, or "" if no policy can name it.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || strings.Trim(u.Host, hostCharacters) != "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// hostCharacters are the characters of host names, addresses and ports. Another character might end a directive of the page's policy.
const hostCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]_"

// open returns the flow that the address names. It answers the request itself, and ok is false, where the flow is unknown
// or has nothing left to fill in.
func (p pages) open(w http.ResponseWriter, r *http.Request) (v visit, ok bool) {
	v, found := p.sim.look(mux.Vars(r)["flow"], r.Method == http.MethodGet)
	switch {
	case !found:
		p.site.NotFound(w, r)
	case v.problem != "":
		p.closed(w, r, v)
	default:
		return v, true
	}
	return v, false
}

// look returns a flow as a payer finds it. The first visit of a page is an event.
func (s *Simulator) look(id string, visited bool) (v visit, found bool) {
	s.do(func(state *state, now time.Time) {
		f, ok := state.flows[id]
		if !ok {
			return
		}
		found = true
		b := state.requests[f.request]
		if v.problem = problemOf(f, b, now); v.problem == "" && visited && !f.visited {
			f.visited = true
			state.happened(now, b, "flow_visited", cause{origin: byPayer, flow: f.id})
		}
		v.flow, v.request, v.creditor = *f, *b, *state.creditor(b.creditor)
	})
	return v, found
}

// change lets a payer change the billing request of a flow, and reports whether there was still something to change.
func (s *Simulator) change(id string, how func(state *state, now time.Time, f *flow, b *billingRequest)) (problem string) {
	s.do(func(state *state, now time.Time) {
		f := state.flows[id]
		b := state.requests[f.request]
		if problem = problemOf(f, b, now); problem == "" {
			how(state, now, f, b)
		}
	})
	return problem
}

// Why a flow cannot be filled in.
const (
	flowDone      = "done"
	flowCancelled = "cancelled"
	flowExpired   = "expired"
	flowBlocked   = "blocked"
	flowLeft      = "left" // by the payer, who has no address to go to
)

// problemOf returns why a flow cannot be filled in, or "".
func problemOf(f *flow, b *billingRequest, now time.Time) string {
	switch {
	case b.status == requestCancelled:
		return flowCancelled
	case b.status != requestPending:
		return flowDone
	case b.blocked:
		return flowBlocked
	case !now.Before(f.expires):
		return flowExpired
	}
	return ""
}

// closedPage is the text of a page without a form.
type closedPage struct {
	status      int
	Title, Text string
}

var closedPages = map[string]closedPage{
	flowDone:      {http.StatusOK, "We have your details", "There is nothing more to do here."},
	flowCancelled: {http.StatusGone, "This direct debit was cancelled", "It can no longer be set up. No money will be collected."},
	flowExpired:   {http.StatusGone, "This page has expired", "Go back and start again to get a new one. No money will be collected."},
	flowBlocked: {http.StatusForbidden, "This service is not available where you are",
		"Direct debits can be set up from New Zealand only. Try again tomorrow, from a New Zealand connection."},
	flowLeft: {http.StatusOK, "You have left the setup", "Nothing was set up. You can close this page."},
}

// closed shows the page of a flow that cannot be filled in, with the way back.
func (p pages) closed(w http.ResponseWriter, r *http.Request, v visit) {
	page := closedPages[v.problem]
	back := v.flow.exitURI
	if v.problem == flowDone && v.flow.redirectURI != "" {
		back = v.flow.redirectURI
	}
	p.show(w, r, "closed.html", page.status, page.Title, v, struct {
		closedPage
		Payee, Back string
	}{page, v.creditor.Name, back})
}

// show shows a page of a visit.
func (p pages) show(w http.ResponseWriter, r *http.Request, name string, status int, title string, v visit, data any) {
	p.site.Show(w, r, name, web.View{Status: status, Title: title, Brand: "GoCardless simulator", Sandbox: true,
		Styles: []string{p.site.Path(assetsPath + "flow.css")}, FormsTo: v.formsTo(), Data: data})
}

// shown is the data of every page with a form.
type shown struct {
	Payee, Action, Exit string
	Description         string
	Initiator, Code     string // of the scheme identifier
}

// shown returns what the page of a step shows; the exit is "" where there is no address to go to.
func (v visit) shown(step string) shown {
	s := shown{Payee: v.creditor.Name, Action: v.at(step), Description: v.request.description,
		Initiator: v.creditor.SchemeName, Code: v.creditor.Reference}
	if v.flow.exitURI != "" {
		s.Exit = v.at("exit")
	}
	return s
}

// pressed returns the flow whose button a payer pressed, in whatever state it is. Otherwise it answers the request itself.
func (p pages) pressed(w http.ResponseWriter, r *http.Request) (v visit, ok bool) {
	if _, ok = p.site.ReadForm(w, r); !ok {
		return v, false
	}
	if v, ok = p.sim.look(mux.Vars(r)["flow"], false); !ok {
		p.site.NotFound(w, r)
	}
	return v, ok
}

// exit lets the payer leave.
func (p pages) exit(w http.ResponseWriter, r *http.Request) {
	v, ok := p.pressed(w, r)
	if !ok {
		return
	}
	p.sim.change(v.flow.id, func(state *state, now time.Time, f *flow, b *billingRequest) {
		state.happened(now, b, "flow_exited", cause{origin: byPayer, flow: f.id})
	})
	if v.flow.exitURI == "" {
		v.problem = flowLeft
		p.closed(w, r, v)
		return
	}
	p.site.Redirect(w, r, v.flow.exitURI)
}
