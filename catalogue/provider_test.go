package catalogue_test

import (
	"testing"

	"github.com/provider-checkout/provider-checkout/catalogue"
)

func TestUsable(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*catalogue.Provider)
		env    catalogue.Environment
		want   string // "" if it may call
	}{
		{"as it should be", func(*catalogue.Provider) {}, catalogue.Production, ""},
		{"disabled", func(p *catalogue.Provider) { p.Disabled = true }, catalogue.Production, "provider KOWHAI was disabled by an operator"},
		{"not active", func(p *catalogue.Provider) { p.Active = false }, catalogue.Production, "provider KOWHAI is not active"},
		{"not enabled for the API", func(p *catalogue.Provider) { p.APIEnabled = false }, catalogue.Production,
			"provider KOWHAI is not enabled for the API"},
		{"not linked to an account", func(p *catalogue.Provider) { p.AccountID = "" }, catalogue.Production,
			"provider KOWHAI is not linked to an account"},
		{"of another environment", func(*catalogue.Provider) {}, catalogue.Sandbox,
			"provider KOWHAI is configured for another environment than sandbox"},
		{"without a destination for events", func(p *catalogue.Provider) { p.Destination = catalogue.Destination{} }, catalogue.Production, ""},
	} {
		p, got := kowhai().Provider, ""
		tt.change(&p)
		if err := p.Usable(tt.env); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: Usable(%s) = %q, want %q", tt.name, tt.env, got, tt.want)
		}
	}
}

func TestDisplayName(t *testing.T) {
	p := catalogue.Provider{Name: "Kōwhai Institute"}
	if got := p.DisplayName(); got != "Kōwhai Institute" {
		t.Errorf("without branding: %q, want the name", got)
	}
	p.Branding.DisplayName = "Kōwhai"
	if got := p.DisplayName(); got != "Kōwhai" {
		t.Errorf("with branding: %q, want the display name", got)
	}
}

func TestEnvironments(t *testing.T) {
	for e, want := range map[catalogue.Environment]bool{catalogue.Sandbox: true, catalogue.Production: true, "": false, "Sandbox": false} {
		if e.Valid() != want {
			t.Errorf("environment %q is valid: %v, want %v", e, e.Valid(), want)
		}
	}
	for url, want := range map[string]bool{"": false, "https://hooks.example": true} {
		if d := (catalogue.Destination{URL: url}); d.Configured() != want {
			t.Errorf("destination %+v is configured: %v, want %v", d, d.Configured(), want)
		}
	}
}
