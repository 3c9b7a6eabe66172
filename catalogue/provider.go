// Package catalogue holds what an operator configures: education providers with
// their integration configuration, their courses and plan options, and their API
// keys. It decides what a configuration must be, whether a provider may call, and
// what a course costs. It does no I/O and reads no clock.
package catalogue

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// Environment separates sandbox from production: keys, courses and records of
// one do not exist in the other (contract, section 5).
type Environment string

const (
	Sandbox    Environment = "sandbox"
	Production Environment = "production"
)

// Valid reports whether e is one of the two environments.
func (e Environment) Valid() bool { return e == Sandbox || e == Production }

// Mode is the pricing mode: who sets the price (contract, section 2.1).
type Mode string

const (
	// Authoritative providers name a course; price and instalments come from the catalogue.
	Authoritative Mode = "catalogue"
	// Legacy providers send the commercial fields; their maths is validated.
	Legacy Mode = "legacy"
)

// Provider is an education provider with its integration configuration.
type Provider struct {
	Code        string // [A-Z0-9][A-Z0-9_-]{0,31}
	Name        string
	AccountID   string // "" means that it is not linked to an account
	Environment Environment
	Active      bool
	APIEnabled  bool
	Disabled    bool // set and cleared by an operator; no configuration changes it
	// EnrolmentOrigins may frame and open the hosted pages: https://host[:port], or http://localhost[:port] in the
	// sandbox, which 127.0.0.1 is not. The service's own origin may not unless it is one of them.
	EnrolmentOrigins []string
	SuccessURL       string // optional; http for localhost alone, as above
	CancelURL        string
	RateLimit        int // requests a second with one of its keys; 0: as many as the server allows
	Branding         Branding
	Destination      Destination
	Mode             Mode
}

// Branding is the presentation of a provider on the hosted pages and the agreement.
type Branding struct {
	DisplayName   string // Provider.Name if empty
	PrimaryColour string // #rrggbb, or ""
	LogoURL       string // an address, or the picture itself: see Picture
	SupportEmail  string
}

// Destination is the receiver of a provider's events. Without a URL they are not sent.
type Destination struct {
	URL    string
	Secret string // the HMAC key is its bytes, prefix included; at least 24
}

// Configured reports whether there is a destination.
func (d Destination) Configured() bool { return d.URL != "" }

// DisplayName returns the name by which a payer knows the provider.
func (p Provider) DisplayName() string {
	if p.Branding.DisplayName != "" {
		return p.Branding.DisplayName
	}
	return p.Name
}

// Usable returns nil if the provider may call the API of env, and otherwise an
// error that says in one sentence which condition fails (contract, section 5, rule 6).
func (p Provider) Usable(env Environment) error {
	switch {
	case p.Disabled:
		return fmt.Errorf("provider %s was disabled by an operator", p.Code)
	case !p.Active:
		return fmt.Errorf("provider %s is not active", p.Code)
	case !p.APIEnabled:
		return fmt.Errorf("provider %s is not enabled for the API", p.Code)
	case p.AccountID == "":
		return fmt.Errorf("provider %s is not linked to an account", p.Code)
	case p.Environment != env:
		return fmt.Errorf("provider %s is configured for another environment than %s", p.Code, env)
	}
	return nil
}

// Configuration is all that an operator configures for one provider.
type Configuration struct {
	Provider Provider
	Courses  []Course // empty for a legacy provider
}

// MaxLogo is the largest logo that a configuration may contain, in bytes: a page with everything on it must
// stay small on a phone.
const MaxLogo = 8 << 10

// pictures are the allowed media types of a logo, each with its first bytes. None of them can contain a script.
var pictures = map[string]string{
	"image/png":  "\x89PNG\r\n\x1a\n",
	"image/jpeg": "\xff\xd8\xff",
}

// Picture returns the logo as a data URL, which a page can show without a request to another server, if the
// configuration contains it; "" if the branding has no logo, or only its address.
func (b Branding) Picture() string {
	if !isPicture(b.LogoURL) || pictureFault(b.LogoURL) != "" {
		return ""
	}
	return b.LogoURL
}

func isPicture(url string) bool { return strings.HasPrefix(url, "data:") }

// pictureFault returns what is wrong with a picture as a data URL, or "".
func pictureFault(url string) string {
	kind, data, _ := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
	begins, known := pictures[kind]
	if !known {
		return "must be https://…, or data:image/png;base64,… or data:image/jpeg;base64,…"
	}
	bytes, err := base64.StdEncoding.Strict().DecodeString(data)
	switch {
	case err != nil:
		return "must hold the picture in base64"
	case !strings.HasPrefix(string(bytes), begins):
		return "must hold a picture of the kind that it names"
	case len(bytes) > MaxLogo:
		return "must hold a picture of at most 8 KB"
	}
	return ""
}
