package desk

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/gorilla/mux"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
)

// Route is a page of the desk, or an act: the role that may open it is a role to which the act is open. With the rights to the acts
// this is the whole matrix of roles and routes.
type Route struct {
	Path  string // "POST /checkouts/{id}/cancel"
	Act   operate.Act
	serve func(*visit) error
}

// routes lists every route that needs a session.
func routes() []Route {
	return []Route{
		{"GET /", operate.ActSee, (*visit).today},
		{"GET /find", operate.ActSee, (*visit).find},
		{"GET /funnel", operate.ActSee, (*visit).funnel},
		{"GET /checkouts/{id}", operate.ActSee, (*visit).checkout},
		{"POST /checkouts/{id}/link", operate.ActLink, (*visit).link},
		{"POST /checkouts/{id}/notice", operate.ActNotice, (*visit).notice},
		{"POST /checkouts/{id}/cancel", operate.ActCancel, (*visit).cancel},
		{"POST /checkouts/{id}/withdraw", operate.ActWithdraw, (*visit).withdraw},
		{"POST /checkouts/{id}/erase", operate.ActErase, (*visit).erase},
		{"POST /checkouts/{id}/reveal", operate.ActReveal, (*visit).reveal},
		{"GET /checkouts/{id}/agreement.pdf", operate.ActAgreement, (*visit).agreement},
		{"GET /checkouts/{id}/proof.json", operate.ActAudit, (*visit).proof},
		{"POST /checkouts/{id}/export", operate.ActExport, (*visit).export},
		{"POST /checkouts/{id}/retry", operate.ActRedeliver, (*visit).retry},
		{"GET /approvals", operate.ActApprovals, (*visit).approvals},
		{"POST /approvals/{id}/approve", operate.ActApprovals, (*visit).approve},
		{"POST /approvals/{id}/decline", operate.ActApprovals, (*visit).decline},
		{"GET /months/{id}", operate.ActMonths, (*visit).month},
		{"GET /audit", operate.ActAudit, (*visit).audit},
		{"GET /providers", operate.ActSee, (*visit).providers},
		{"GET /providers/{id}", operate.ActSee, (*visit).provider},
		{"GET /providers/{id}/golive", operate.ActSee, (*visit).goLive},
		{"POST /providers/{id}/ping", operate.ActPing, (*visit).ping},
		{"POST /providers/{id}/redeliver", operate.ActRedeliverAll, (*visit).redeliver},
		{"POST /providers/{id}/rate", operate.ActRate, (*visit).rate},
		{"POST /providers/{id}/disable", operate.ActDisable, (*visit).disable},
		{"POST /providers/{id}/enable", operate.ActEnable, (*visit).enable},
		{"POST /providers/{id}/keys", operate.ActRevokeKey, (*visit).keys},
	}
}

// visit is a request of somebody who is signed in, in a role to which the route is open.
type visit struct {
	*desk
	w        http.ResponseWriter
	r        *http.Request
	session  session
	operator operate.Operator
	form     url.Values // of a POST
	done     string     // the act that was done, as doneTexts has it; "" for the last word of the route
}

// guarded returns the handler of a route: for a session with a role to which the act is open, with a reason and shortly after a
// sign-in where the act needs these. Without a session it leads to the sign-in, and from there to the page.
func (d *desk) guarded(route Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, ok := d.session(r)
		if !ok {
			d.admit(w, r, false)
			return
		}
		v := &visit{desk: d, w: w, r: r, session: s, operator: operate.Operator{Store: d.Store, Keyring: d.keyring, By: s.Name,
			Person: s.Person, Role: s.roleFor(route.Act), Now: d.Now, Ahead: d.Ahead, Rand: d.Rand}}
		needs := operate.RightsTo(route.Act)
		var err error
		switch {
		case v.operator.Role == "":
			err = operate.ErrNotAllowed
		case r.Method == http.MethodPost && (needs.Fresh || route.Act == operate.ActApprovals) && !s.fresh(d.Now()):
			d.admit(w, r, true)
			return
		case r.Method == http.MethodPost:
			err = v.read(route.Act)
		case d.Now().Sub(s.Seen) >= touchEvery:
			err = d.keep(w, s)
		}
		if err == nil {
			err = route.serve(v)
		}
		if err != nil {
			d.fail(w, r, err)
		}
	})
}

// admit leads to a sign-in, and from there to the page of the request, or of the form that was sent. After a form a page leads on,
// because a browser follows no redirect of a form to another website.
func (d *desk) admit(w http.ResponseWriter, r *http.Request, fresh bool) {
	query := url.Values{"to": {r.URL.Path}}
	if fresh {
		query.Set("fresh", "")
	}
	switch {
	case r.Method == http.MethodPost:
		query.Set("to", formPage(r))
		d.goOn(w, r, http.StatusForbidden, signInPath+"?"+query.Encode(), message{Title: "Sign in again",
			Text: "Nothing was done: the act needs a new sign-in.", Label: "Sign in"})
	case d.issuer == nil:
		http.Redirect(w, r, signInPath+"?"+query.Encode(), http.StatusSeeOther)
	default:
		if err := d.issuer.begin(w, r, localPath(r.URL.RequestURI()), fresh); err != nil {
			d.fail(w, r, err)
		}
	}
}

// formPage returns the page that has the form of an act.
func formPage(r *http.Request) string {
	if strings.HasPrefix(r.URL.Path, "/approvals/") {
		return "/approvals"
	}
	return r.URL.Path[:strings.LastIndex(r.URL.Path, "/")]
}

// id returns the variable of the path.
func (v *visit) id() string { return mux.Vars(v.r)["id"] }

// field returns a field of the form.
func (v *visit) field(name string) string { return strings.TrimSpace(web.One(v.form, name)) }

// read reads a form with the reason of the operator, who may do the act, or ask for it.
func (v *visit) read(act operate.Act) (err error) {
	if v.form, err = readForm(v.w, v.r); err != nil {
		return err
	}
	if v.operator.Reason, err = operate.ParseReason(v.field("reason")); err != nil {
		return errors.Join(errFields, err)
	}
	if len(operate.RightsTo(act).Ask) > 0 {
		return nil // which Ask looks at
	}
	return v.operator.May(act)
}

// lead leads to a page of the desk, unless there is an error.
func (v *visit) lead(to string, err error) error {
	if err == nil {
		http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	}
	return err
}

// back leads to a page of the desk after an act that was done, and has the page say so.
func (v *visit) back(to string, err error) error {
	return v.lead(to+"?done="+cmp.Or(v.done, path.Base(v.r.URL.Path)), err)
}

// in has the operator act in a role that may do another act than the route's.
func (v *visit) in(act operate.Act) error {
	v.operator.Role = v.session.roleFor(act)
	return v.operator.May(act)
}

// page answers with a page of the desk.
func (v *visit) page(name, title string, content any) error {
	v.show(v.w, v.r, http.StatusOK, name, title, page{v, content})
	return nil
}
