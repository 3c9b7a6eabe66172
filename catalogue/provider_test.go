package catalogue_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
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

// picture returns bytes of a size that begin as a PNG does and go on as filler, as a data URL of a kind.
func picture(kind string, size int) string {
	data := "\x89PNG\r\n\x1a\n"
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString([]byte(data+strings.Repeat("x", size-len(data))))
}

func TestPicture(t *testing.T) {
	for _, tt := range []struct {
		name, url string
		shown     bool
	}{
		{"a picture", picture("image/png", 100), true},
		{"the largest", picture("image/png", catalogue.MaxLogo), true},
		{"too large a one, which no check let through", picture("image/png", catalogue.MaxLogo+1), false},
		{"an address", "https://kowhai.example/logo.png", false},
		{"none", "", false},
	} {
		want := ""
		if tt.shown {
			want = tt.url
		}
		if got := (catalogue.Branding{LogoURL: tt.url}).Picture(); got != want {
			t.Errorf("%s: Picture = %.40q, want %.40q", tt.name, got, want)
		}
	}
}

func TestResolve(t *testing.T) {
	tests := []struct {
		name      string
		env       catalogue.Environment
		frequency money.Frequency
		change    func(*catalogue.Course)
		want      money.Instalments
		err       error
	}{
		{"by number, the rest last", "production", money.Weekly, nil, money.Instalments{Number: 52, Regular: 53_65, Final: 53_85}, nil},
		{"by amount, the rest last", "production", money.Fortnightly, nil, money.Instalments{Number: 24, Regular: 120_00, Final: 30_00}, nil},
		{"at a frequency without an option", "production", money.Monthly, nil, money.Instalments{}, catalogue.ErrNoOption},
		{"in the other environment", "sandbox", money.Weekly, nil, money.Instalments{}, catalogue.ErrUnavailable},
		{"not for sale", "production", money.Weekly,
			func(c *catalogue.Course) { c.Active = false }, money.Instalments{}, catalogue.ErrUnavailable},
		{"not for sale, and without an option", "production", money.Monthly,
			func(c *catalogue.Course) { c.Active = false }, money.Instalments{}, catalogue.ErrUnavailable},
		{"all of the price upfront, which Check refuses", "production", money.Weekly,
			func(c *catalogue.Course) { c.Upfront = c.Price }, money.Instalments{}, money.ErrNoPrincipal},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := sample.Course()
			if tt.change != nil {
				tt.change(&c)
			}
			pricing, got, err := c.Resolve(tt.env, tt.frequency)
			if !errors.Is(err, tt.err) || got != tt.want {
				t.Errorf("Resolve = %+v, %v; want %+v, %v", got, err, tt.want, tt.err)
			}
			want := money.Pricing{Price: 2990_00, Upfront: 200_00, Principal: 2790_00}
			if tt.err != nil {
				want = money.Pricing{}
			}
			if pricing != want {
				t.Errorf("Resolve = %+v; want %+v", pricing, want)
			}
		})
	}
}

// What Check passes can be sold, what can be sold is paid to the cent, and what Check
// refuses for its maths cannot be sold.
func TestResolveConservesThePrice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		course := sample.Course()
		course.Price = money.Cents(rapid.Int64Range(1, int64(money.Max)).Draw(t, "price"))
		if rapid.Bool().Draw(t, "small") {
			course.Price = 1 + course.Price%700
		}
		course.Upfront = money.Cents(rapid.Int64Range(0, int64(course.Price)-1).Draw(t, "upfront"))
		principal := int64(course.Price - course.Upfront)
		option := catalogue.Option{Frequency: money.Weekly}
		if rapid.Bool().Draw(t, "by number") {
			option.Number = rapid.IntRange(1, 600).Draw(t, "number")
		} else {
			option.Amount = money.Cents(rapid.Int64Range(1+principal/700, min(1+principal, int64(money.Max))).Draw(t, "amount"))
		}
		course.Options = []catalogue.Option{option}
		c := kowhai()
		c.Courses = []catalogue.Course{course}

		pricing, instalments, err := course.Resolve(catalogue.Production, money.Weekly)
		if faults := c.Check(); (err == nil) != (faults == nil) {
			t.Fatalf("Resolve = %v, and Check = %q; want them to agree", err, faults)
		}
		if err != nil {
			return
		}
		if pricing.Price != course.Price || pricing.Upfront+pricing.Principal != pricing.Price || instalments.Principal() != pricing.Principal {
			t.Errorf("Resolve = %+v, %+v; want the price of %v to the cent", pricing, instalments, course.Price)
		}
		if instalments.Regular <= 0 || instalments.Final <= 0 || instalments.Number > money.MaxInstalments {
			t.Errorf("Resolve = %+v; want 1 to 600 instalments of a cent or more", instalments)
		}
	})
}
