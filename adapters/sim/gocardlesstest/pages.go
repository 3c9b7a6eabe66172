package gocardlesstest

import (
	_ "embed"
	"html/template"
	"net/http"
	"net/url"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("").Parse(pageText))

// flowPath is the path of the hosted pages.
const flowPath = "/flow/"

// isURL reports whether a text is an address of the web.
func isURL(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http")
}

// shown is a page: the form, or the notice of a flow that cannot be filled in.
type shown struct {
	status      int
	Title, Text string
	Back        string // address that a notice leads to
	Fault       string // of the form that was sent
	Flow        flow
	Description string
	Creditor
}

// closed returns the notice of a flow that cannot be filled in, or nil.
func (f *flow) closed(now time.Time) *shown {
	switch b := f.request; {
	case b.Status == checkout.BillingCancelled:
		return &shown{status: http.StatusGone, Title: "This direct debit was cancelled", Text: "It can no longer be set up.", Back: f.ExitURI}
	case b.Status != checkout.BillingPending:
		return &shown{status: http.StatusOK, Title: "We have your details", Text: "There is nothing more to do here.", Back: f.RedirectURI}
	case now.Before(b.blockedUntil):
		return &shown{status: http.StatusForbidden, Title: "This service is not available where you are", Text: "Try tomorrow.", Back: f.ExitURI}
	case !now.Before(f.expires):
		return &shown{status: http.StatusGone, Title: "This page has expired", Text: "Go back to get a new one.", Back: f.ExitURI}
	}
	return nil
}

// servePage shows the page of a flow. The first visit is an event.
func (s *Simulator) servePage(w http.ResponseWriter, r *http.Request) {
	s.show(w, r, http.StatusOK, "")
}

// takeForm takes the payer's details and authority, and leads back.
func (s *Simulator) takeForm(w http.ResponseWriter, r *http.Request) {
	leadsTo, err := s.Complete(r.PathValue("flow"), Payer{r.PostFormValue("given_name"), r.PostFormValue("family_name"),
		r.PostFormValue("email"), r.PostFormValue("account_holder_name"), r.PostFormValue("account_number")})
	if err != nil {
		s.show(w, r, http.StatusUnprocessableEntity, err.Error())
		return
	}
	http.Redirect(w, r, leadsTo, http.StatusSeeOther)
}

// leave leads a payer back who gives up.
func (s *Simulator) leave(w http.ResponseWriter, r *http.Request) {
	s.do(func(now time.Time) {
		if f := s.flows[r.PathValue("flow")]; f != nil {
			s.happened(now, f.request, "flow_exited", byPayer)
			http.Redirect(w, r, f.ExitURI, http.StatusSeeOther)
			return
		}
		http.NotFound(w, r)
	})
}

// show shows the page of the flow that the address names.
func (s *Simulator) show(w http.ResponseWriter, r *http.Request, status int, fault string) {
	s.do(func(now time.Time) {
		f := s.flows[r.PathValue("flow")]
		if f == nil {
			http.NotFound(w, r)
			return
		}
		p := f.closed(now)
		if p == nil {
			p = &shown{status: status, Title: "Your details", Fault: fault, Flow: *f, Description: f.request.MandateRequest.Description,
				Creditor: *f.request.creditor}
			if !f.visited {
				f.visited = true
				s.happened(now, f.request, "flow_visited", byPayer)
			}
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(p.status)
		_ = page.Execute(w, p) // a browser that went away is no fault
	})
}
