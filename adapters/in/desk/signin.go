package desk

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/money/text"
)

const (
	signInPath   = "/sign-in"
	callbackPath = "/sign-in/callback"
	issuerLimit  = 10 * time.Second
	issuerPause  = 5 * time.Second // before an issuer that did not answer is asked again: whoever waits meanwhile is told so
)

// issuer signs operators in by OpenID Connect. It is found at the first sign-in, so that an issuer that is away stops nothing else.
type issuer struct {
	*desk
	client *http.Client

	mu       sync.Mutex
	provider *oidc.Provider // nil until it was found
	failed   time.Time      // when it was last not found
}

// discovered returns the issuer's configuration.
func (i *issuer) discovered(ctx context.Context) (*oidc.Provider, oauth2.Config, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.provider == nil {
		if since := i.Now().Sub(i.failed); since < issuerPause {
			return nil, oauth2.Config{}, fmt.Errorf("%w: it did not answer %v ago", errIssuer, since.Round(time.Second))
		}
		p, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), i.client), i.Issuer)
		if err != nil {
			i.failed = i.Now()
			return nil, oauth2.Config{}, fmt.Errorf("%w: %w", errIssuer, err)
		}
		i.provider = p
	}
	scopes := []string{oidc.ScopeOpenID, "profile", "email"}
	var known discovery
	if err := i.provider.Claims(&known); err == nil && slices.Contains(known.Scopes, i.roles.Claim) {
		scopes = append(scopes, i.roles.Claim)
	}
	return i.provider, oauth2.Config{ClientID: i.ClientID, ClientSecret: i.ClientSecret, Endpoint: i.provider.Endpoint(),
		RedirectURL: i.URL + callbackPath, Scopes: scopes}, nil
}

// begin leads the browser to the issuer, and from there to a page of the desk. For a fresh sign-in the issuer asks for the
// credentials, unless it has just done so.
func (i *issuer) begin(w http.ResponseWriter, r *http.Request, to string, fresh bool) error {
	_, config, err := i.discovered(r.Context())
	if err != nil {
		return err
	}
	p := pending{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), To: to, Fresh: fresh, Began: i.Now()}
	if err := i.setCookie(w, pendingCookie, http.SameSiteLaxMode, p); err != nil {
		return err
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(p.Nonce), oauth2.S256ChallengeOption(p.Verifier)}
	if fresh {
		options = append(options, oauth2.SetAuthURLParam("max_age", fmt.Sprint(int(freshFor.Seconds()))))
	}
	http.Redirect(w, r, config.AuthCodeURL(p.State, options...), http.StatusSeeOther)
	return nil
}

// ended reads the issuer's answer, and returns the session and the page to go on to.
func (i *issuer) ended(r *http.Request) (s session, to string, err error) {
	var p pending
	query := r.URL.Query()
	switch {
	case !i.readCookie(r, pendingCookie, &p) || i.Now().Sub(p.Began) >= signInLimit:
		return s, "", fmt.Errorf("%w: it did not begin in this browser, or took too long", errSignIn)
	case subtle.ConstantTimeCompare([]byte(p.State), []byte(web.One(query, "state"))) != 1:
		return s, "", fmt.Errorf("%w: the state is another", errSignIn)
	case query.Has("error"):
		return s, "", fmt.Errorf("%w: the issuer refuses: %.40q", errSignIn, web.One(query, "error"))
	}
	token, c, err := i.exchange(r.Context(), web.One(query, "code"), p)
	if err != nil {
		return s, "", err
	}
	s, err = i.sessionOf(token, c)
	if err == nil && p.Fresh && !s.fresh(i.Now()) {
		err = fmt.Errorf("%w: the issuer did not ask for the credentials again", errSignIn)
	}
	return s, p.To, err
}

// exchange gets the ID token for a code, and verifies it.
func (i *issuer) exchange(ctx context.Context, code string, p pending) (*oidc.IDToken, claims, error) {
	provider, config, err := i.discovered(ctx)
	if err != nil {
		return nil, claims{}, err
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, i.client), issuerLimit)
	defer cancel()
	answer, err := config.Exchange(ctx, code, oauth2.VerifierOption(p.Verifier))
	if refusal := (*oauth2.RetrieveError)(nil); errors.As(err, &refusal) { // its text may have anything in it
		return nil, claims{}, fmt.Errorf("%w: the issuer refuses the code: status %d, %.40q", errSignIn,
			refusal.Response.StatusCode, refusal.ErrorCode)
	} else if err != nil {
		return nil, claims{}, fmt.Errorf("%w: %w", errIssuer, err)
	}
	raw, _ := answer.Extra("id_token").(string)
	token, err := provider.Verifier(&oidc.Config{ClientID: i.ClientID, Now: i.Now}).Verify(ctx, raw)
	if err != nil {
		return nil, claims{}, fmt.Errorf("%w: %w", errSignIn, err)
	}
	var c claims
	switch err := token.Claims(&c); {
	case err != nil:
		return nil, c, fmt.Errorf("%w: read the claims: %w", errSignIn, err)
	case subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(p.Nonce)) != 1:
		return nil, c, fmt.Errorf("%w: the nonce is another", errSignIn)
	case cmp.Or(c.Party, i.ClientID) != i.ClientID, c.Subject == "":
		return nil, c, fmt.Errorf("%w: the token is for another client, or for nobody", errSignIn)
	}
	return token, c, nil
}

// sessionOf returns the session of somebody whom an ID token names.
func (i *issuer) sessionOf(token *oidc.IDToken, c claims) (session, error) {
	all := map[string]any{}
	if err := token.Claims(&all); err != nil {
		return session{}, fmt.Errorf("%w: read the claims: %w", errSignIn, err)
	}
	var groups []string
	switch of := all[i.roles.Claim].(type) {
	case string:
		groups = []string{of}
	case []any:
		for _, g := range of {
			if name, ok := g.(string); ok {
				groups = append(groups, name)
			}
		}
	}
	name := text.Normalize(cmp.Or(c.Username, c.Email, c.Subject))
	if err := operate.CheckName(name); err != nil {
		return session{}, fmt.Errorf("%w: the name %w", errSignIn, err)
	}
	s := session{Person: token.Issuer + " " + c.Subject, Name: name, Groups: i.roles.known(groups), Began: i.Now()}
	if c.AuthTime > 0 {
		s.SignedIn = time.Unix(c.AuthTime, 0)
	}
	if len(s.Groups) == 0 {
		return session{}, fmt.Errorf("%w: no group of the claim %s has a role", errSignIn, i.roles.Claim)
	}
	return s, nil
}

// signIn leads to a sign-in, or shows whom a sandbox without an issuer can be signed in as.
func (d *desk) signIn(w http.ResponseWriter, r *http.Request) {
	to := localPath(web.One(r.URL.Query(), "to"))
	if d.issuer == nil {
		d.show(w, r, http.StatusOK, "sign-in.html", "Sign in", struct {
			To    string
			Names []string
			Roles []operate.Role
		}{to, demoNames, operate.Roles()})
		return
	}
	if err := d.issuer.begin(w, r, to, r.URL.Query().Has("fresh")); err != nil {
		d.fail(w, r, err)
	}
}

// demoNames are the people of a sandbox without an issuer: two, so that one can approve what the other asks for.
var demoNames = []string{"Aroha", "Ben"}

// click signs in without an issuer, as somebody in a role.
func (d *desk) click(w http.ResponseWriter, r *http.Request) {
	form, err := readForm(w, r)
	name, role := web.One(form, "name"), operate.Role(web.One(form, "role"))
	switch {
	case err != nil:
		d.fail(w, r, err)
		return
	case d.issuer != nil:
		d.message(w, r, http.StatusNotFound, "")
		return
	case !slices.Contains(demoNames, name), !slices.Contains(operate.Roles(), role):
		d.message(w, r, http.StatusUnprocessableEntity, "")
		return
	}
	now := d.Now()
	s := session{Person: "demo " + name, Name: name, Groups: []string{string(role)}, Began: now, SignedIn: now}
	if err := d.keep(w, s); err != nil {
		d.fail(w, r, err)
		return
	}
	http.Redirect(w, r, localPath(web.One(form, "to")), http.StatusSeeOther)
}

// callback takes the issuer's answer. It leads on by a page, because browsers send no SameSite=Strict cookie on a redirect that
// began at another site.
func (d *desk) callback(w http.ResponseWriter, r *http.Request) {
	if d.issuer == nil {
		d.message(w, r, http.StatusNotFound, "")
		return
	}
	d.dropCookie(w, pendingCookie, http.SameSiteLaxMode)
	s, to, err := d.issuer.ended(r)
	if err == nil {
		err = d.keep(w, s)
	}
	if err != nil {
		d.fail(w, r, err)
		return
	}
	d.goOn(w, r, http.StatusOK, to, message{Title: "Signed in", Label: "Go on"})
}

// signOut ends the session in this browser.
func (d *desk) signOut(w http.ResponseWriter, r *http.Request) {
	d.dropCookie(w, sessionCookie, http.SameSiteStrictMode)
	d.say(w, r, http.StatusOK, session{}, message{Title: "Signed out", Link: "/", Label: "Sign in again"})
}

// localPath returns a path of the desk, or "/" for any other address.
func localPath(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") ||
		strings.ContainsAny(to, "\\;\r\n") {
		return "/"
	}
	return to
}
