package desk

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
)

const (
	// freshFor is the time after a sign-in in which dangerous acts need no other.
	freshFor = 5 * time.Minute
	// signInLimit is the time that a sign-in may take.
	signInLimit = 10 * time.Minute
	// touchEvery is the time after which a cookie is sealed again, so that its idle end moves on.
	touchEvery = time.Minute
	// revealedFor is the time for which the personal data of a checkout is shown after a reason was given.
	revealedFor = 5 * time.Minute
)

// session is somebody who is signed in. It is kept in a sealed cookie alone, so that every process knows it.
type session struct {
	Person   string   // the issuer and its subject
	Name     string   // for the evidence log
	Groups   []string // that have a role
	Began    time.Time
	SignedIn time.Time // when the issuer last asked for the credentials
	Seen     time.Time

	Revealed      string // the checkout whose personal data is shown
	RevealedUntil time.Time

	roles []operate.Role
}

// pending is a sign-in that has begun, sealed in a cookie of its own.
type pending struct {
	State, Nonce, Verifier string
	To                     string // the page to go on to
	Fresh                  bool
	Began                  time.Time
}

// cookieName returns the name of a cookie. Browsers keep one with __Host- from every other host, and from plain http.
func (d *desk) cookieName(name string) string {
	if strings.HasPrefix(d.URL, "https://") {
		return "__Host-" + name
	}
	return name
}

const (
	sessionCookie = "desk"
	pendingCookie = "desk-sign-in"
)

// sealedFor names a use of a sealed value. What a desk of another environment or issuer has sealed is not taken under the same secret
// either: at a sandbox's anybody may be anybody.
func (d *desk) sealedFor(use string) string {
	return fmt.Sprintf("desk %s %t %s", use, d.Sandbox, d.Issuer)
}

// seal encrypts a value for one use under the operator's secret, as a text for a cookie or an address.
func (d *desk) seal(use string, value any) (string, error) {
	plain, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	sealed, err := d.sealer.Encrypt(plain, d.sealedFor(use))
	return base64.RawURLEncoding.EncodeToString(sealed), err
}

// unseal reads what seal returned for the same use, and reports whether it could.
func (d *desk) unseal(use, text string, value any) bool {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return false
	}
	plain, err := d.sealer.Decrypt(sealed, d.sealedFor(use))
	return err == nil && json.Unmarshal(plain, value) == nil
}

// setCookie seals a value in a cookie.
func (d *desk) setCookie(w http.ResponseWriter, name string, same http.SameSite, value any) error {
	sealed, err := d.seal("cookie "+name, value)
	if err == nil {
		http.SetCookie(w, d.cookie(name, same, sealed))
	}
	return err
}

func (d *desk) cookie(name string, same http.SameSite, value string) *http.Cookie {
	return &http.Cookie{Name: d.cookieName(name), Value: value, Path: "/", HttpOnly: true, SameSite: same,
		Secure: strings.HasPrefix(d.URL, "https://")}
}

// dropCookie has the browser forget a cookie.
func (d *desk) dropCookie(w http.ResponseWriter, name string, same http.SameSite) {
	c := d.cookie(name, same, "")
	c.MaxAge = -1
	http.SetCookie(w, c)
}

// readCookie opens a sealed cookie, and reports whether the request has one cookie of the name, sealed under the operator's secret.
func (d *desk) readCookie(r *http.Request, name string, value any) bool {
	given := r.CookiesNamed(d.cookieName(name))
	return len(given) == 1 && d.unseal("cookie "+name, given[0].Value, value)
}

// session returns who is signed in, and whether anybody is: with a session that is neither over nor idle, and a role.
func (d *desk) session(r *http.Request) (s session, ok bool) {
	now := d.Now()
	if !d.readCookie(r, sessionCookie, &s) || now.Sub(s.Began) >= d.Session || now.Sub(s.Seen) >= d.Idle {
		return session{}, false
	}
	s.roles = d.roles.of(s.Groups)
	return s, len(s.roles) > 0
}

// keep stores the session as it is now.
func (d *desk) keep(w http.ResponseWriter, s session) error {
	s.Seen = d.Now()
	return d.setCookie(w, sessionCookie, http.SameSiteStrictMode, s)
}

// fresh reports whether the credentials were asked for a short time ago.
func (s session) fresh(now time.Time) bool { return now.Sub(s.SignedIn) < freshFor }

// roleFor returns the first role in which an act is open to the session; "" without such a role.
func (s session) roleFor(act operate.Act) operate.Role {
	for _, role := range s.roles {
		if operate.RightsTo(act).Open(role) {
			return role
		}
	}
	return ""
}
