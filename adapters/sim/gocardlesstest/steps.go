package gocardlesstest

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/bankaccount"
)

// form shows the form of a step, which may come back with mistakes.
func (p pages) form(w http.ResponseWriter, r *http.Request, v visit, name, title string, faulty bool, data any) {
	status := http.StatusOK
	if faulty {
		status, title = http.StatusUnprocessableEntity, "Error: "+title
	}
	p.show(w, r, name, status, title, v, data)
}

// showDetails shows the form for the payer's details.
func (p pages) showDetails(w http.ResponseWriter, r *http.Request) {
	if v, ok := p.open(w, r); ok {
		p.details(w, r, v, knownDetails(v))
	}
}

func (p pages) details(w http.ResponseWriter, r *http.Request, v visit, fields inputs) {
	p.form(w, r, v, "details.html", "Your details", fields.faulty(), struct {
		shown
		Fields inputs
		Locked bool
	}{v.shown("details"), fields, v.flow.flags[lockCustomer]})
}

// posted returns the form that a payer sent, and the flow that it is for. Otherwise it answers the request itself.
func (p pages) posted(w http.ResponseWriter, r *http.Request) (values url.Values, v visit, ok bool) {
	if values, ok = p.site.ReadForm(w, r); ok {
		v, ok = p.open(w, r)
	}
	return values, v, ok
}

// takeDetails takes the payer's details and goes on to the account.
func (p pages) takeDetails(w http.ResponseWriter, r *http.Request) {
	values, v, ok := p.posted(w, r)
	if !ok {
		return
	}
	in := knownDetails(v)
	if !v.flow.flags[lockCustomer] {
		in = readDetails(values)
	}
	if in.faulty() {
		p.details(w, r, v, in)
		return
	}
	v.problem = p.sim.change(v.flow.id, func(s *state, now time.Time, f *flow, b *billingRequest) {
		s.payerDetails(now, f, b, Payer{GivenName: in[0].Value, FamilyName: in[1].Value, Email: in[2].Value})
	})
	p.goOn(w, r, v, "account")
}

// payerDetails takes the details of a payer, who may be where GoCardless does not serve.
func (s *state) payerDetails(now time.Time, f *flow, b *billingRequest, payer Payer) {
	by := cause{origin: byPayer, flow: f.id}
	s.collectCustomer(now, b, payer, by)
	if strings.EqualFold(payer.FamilyName, blockedName) {
		s.block(now, b, by)
	}
}

// blockedFor is the time for which a payer is kept out.
const blockedFor = 24 * time.Hour

// block keeps the payer of a billing request out for a while.
func (s *state) block(now time.Time, b *billingRequest, by cause) {
	b.blocked = true
	s.happened(now, b, "payer_geo_blocked", by)
	s.later(now.Add(blockedFor), func(time.Time) { b.blocked = false })
}

// goOn leads to the next step, or to the page of a flow that has come to an end meanwhile.
func (p pages) goOn(w http.ResponseWriter, r *http.Request, v visit, step string) {
	latest, _ := p.sim.look(v.flow.id, false)
	switch {
	case latest.problem == flowDone && latest.flow.redirectURI != "":
		p.site.Redirect(w, r, latest.flow.redirectURI)
	case latest.problem != "":
		p.closed(w, r, latest)
	default:
		p.site.Redirect(w, r, p.site.Path(v.at(step)))
	}
}

// showAccount shows the form for the account.
func (p pages) showAccount(w http.ResponseWriter, r *http.Request) {
	v, ok := p.open(w, r)
	switch {
	case !ok:
	case !v.request.collected:
		p.goOn(w, r, v, "details")
	default:
		p.account(w, r, v, knownAccount(v))
	}
}

func (p pages) account(w http.ResponseWriter, r *http.Request, v visit, in accountInput) {
	p.form(w, r, v, "account.html", "Your bank account", in.faulty(), struct {
		shown
		accountInput
		Back string
	}{v.shown("account"), in, v.at("details")})
}

// takeAccount takes the account and goes on to the look at everything.
func (p pages) takeAccount(w http.ResponseWriter, r *http.Request) {
	values, v, ok := p.posted(w, r)
	if !ok {
		return
	}
	if !v.request.collected {
		p.goOn(w, r, v, "details")
		return
	}
	in, number := readAccount(values)
	if in.faulty() {
		p.account(w, r, v, in)
		return
	}
	p.sim.change(v.flow.id, func(s *state, now time.Time, f *flow, b *billingRequest) {
		s.collectAccount(now, b, bankAccount{number: number, holder: in.Holder.Value}, cause{origin: byPayer, flow: f.id})
	})
	p.goOn(w, r, v, "check")
}

// showCheck shows everything that was given, to be confirmed.
func (p pages) showCheck(w http.ResponseWriter, r *http.Request) {
	v, ok := p.open(w, r)
	switch step := v.next(); {
	case !ok:
	case step != "check":
		p.goOn(w, r, v, step)
	default:
		b := v.request
		p.show(w, r, "check.html", http.StatusOK, "Check your details", v, struct {
			shown
			Name, Email, Holder, Number, Bank string
			Details, Account                  string // where they are changed
		}{v.shown("check"), b.customer.GivenName + " " + b.customer.FamilyName, b.customer.Email, b.account.holder,
			written(b.account.number), b.account.number.BankName(), v.at("details"), v.at("account")})
	}
}

// next returns the step that the payer has to take next.
func (v visit) next() string {
	switch {
	case !v.request.collected:
		return "details"
	case v.request.account == nil:
		return "account"
	}
	return "check"
}

// written writes an account number as banks do.
func written(n bankaccount.Number) string {
	return strings.Join([]string{n.Bank, n.Branch, n.Base, n.Suffix}, "-")
}

// confirm takes the payer's confirmation and leads back. A second click leads back too.
func (p pages) confirm(w http.ResponseWriter, r *http.Request) {
	v, ok := p.pressed(w, r)
	if !ok {
		return
	}
	p.sim.change(v.flow.id, func(s *state, now time.Time, f *flow, b *billingRequest) {
		if b.collected && b.account != nil {
			s.confirm(now, b, f.flags[autoFulfil], cause{origin: byPayer, flow: f.id})
		}
	})
	p.goOn(w, r, v, v.next())
}
