package desk

import (
	"errors"
	"net/http"
	"path"
	"strings"

	"github.com/gorilla/mux"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
)

// visit is a request of a person, and the data of the page that answers it.
type visit struct {
	*desk
	w        http.ResponseWriter
	r        *http.Request
	operator operate.Operator // who makes an act

	Who      string // the name of the person; "" for a person who is not admitted
	Role     string
	Done     bool   // an act led to the page
	Revealed bool   // the page shows personal data
	Refusal  string // the reason for which the act is refused, in words
	Status   int
	Content  any
}

// visited returns the handler of a route for persons with a role.
func (d *desk) visited(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{desk: d, w: w, r: r, Status: http.StatusOK, Done: r.URL.Query().Has("done")}
		who, role, err := d.guard.identify(r)
		if err == nil {
			v.Who, v.Role = who, role
			err = v.serve(rt)
		}
		if err != nil {
			v.fail(err)
		}
	})
}

// serve answers with the page of a route. An act leads back to its page. A refused act answers with the page and the form as it was
// filled in, and a reveal with the page that shows personal data.
func (v *visit) serve(rt route) error {
	if rt.act == nil {
		return rt.page(v)
	}
	err := v.do(rt.act)
	switch p := problemOf(err); {
	case err == nil && !v.Revealed:
		http.Redirect(v.w, v.r, path.Dir(v.r.URL.Path)+"?done", http.StatusSeeOther)
		return nil
	case err != nil && p.status != http.StatusConflict && p.status != http.StatusUnprocessableEntity:
		return err
	case err != nil:
		v.Status, v.Refusal = p.status, p.words
	}
	return rt.page(v)
}

// do makes an act of an agent, who gives a reason. A repeat of an end is no error.
func (v *visit) do(act func(*visit) error) error {
	if v.Role != agent {
		return forbidden("role", "Your role is viewer, which reads. Ask somebody with the role agent.")
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, 16<<10)
	if err := v.r.ParseForm(); err != nil {
		return errors.Join(errForm, err)
	}
	reason, err := operate.ParseReason(v.field("reason"))
	switch {
	case err != nil:
		return unprocessable("The reason " + err.Error() + ".")
	case reason == "":
		return unprocessable("Give a reason: it goes on record with the act.")
	}
	v.operator = operate.Operator{Store: v.Store, Keyring: v.Keyring, By: v.Who, Reason: reason, Now: v.Now, Rand: v.Rand}
	if err := act(v); !errors.Is(err, checkout.ErrEnded) {
		return err
	}
	return nil
}

func (v *visit) id() string               { return mux.Vars(v.r)["id"] }
func (v *visit) field(name string) string { return strings.TrimSpace(web.One(v.r.PostForm, name)) }

type act struct {
	Path, Of, Button, Hint string // Of is the id of a job or a key; "" for an act on the record itself
	Refused                bool   // the form is shown again
	Reason, Ground         string // as they were typed
	Grounds                []checkout.Ground
}

func (v *visit) Act(path, of, button, hint string) act {
	a := act{Path: path, Of: of, Button: button, Hint: hint}
	if strings.HasSuffix(path, "/withdraw") {
		a.Grounds = checkout.Grounds()
	}
	if v.Refusal != "" && v.r.URL.Path == path && v.field("of") == of {
		a.Refused, a.Reason, a.Ground = true, web.One(v.r.PostForm, "reason"), v.field("ground")
	}
	return a
}

func (v *visit) show(name, title string, content any) error {
	v.Content = content
	v.site.Show(v.w, v.r, name, web.View{Status: v.Status, Title: title, Brand: "Desk", Sandbox: v.Sandbox, Plain: true,
		Styles: []string{assetsPath + "desk.css"}, Data: v})
	return nil
}
