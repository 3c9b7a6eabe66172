package service_test

import (
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

func TestNewRefusesAFaultyConfiguration(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*service.Config)
		want   string // part of the error; "" if it is accepted
	}{
		{"as it should be", func(*service.Config) {}, ""},
		{"no keyring", func(c *service.Config) { c.Keyring = checkout.Keyring{} }, "Keyring is missing"},
		{"no store", func(c *service.Config) { c.Store = nil }, "Store, Processor, Printer or Sender is missing"},
		{"a CRM of another environment", func(c *service.Config) { c.CRM = &crm{environment: catalogue.Production} },
			"field CRM: the scripted CRM is for production"},
		{"no clock", func(c *service.Config) { c.Now = nil }, "Now, Rand or Report is missing"},
		{"nowhere to report to", func(c *service.Config) { c.Report = nil }, "Now, Rand or Report is missing"},
		{"faulty terms", func(c *service.Config) { c.Terms.Lender = agreement.Lender{Name: "Pūtea Limited"} },
			"Terms: lender.address must be given"},
		{"a recipient without a purpose", func(c *service.Config) { c.Recipients = []agreement.Recipient{{Name: "Bank"}} }, "field Recipients: "},
		{"a retention that is too short", func(c *service.Config) { c.Retention.AgreedYears = 1 },
			"Retention: agreements must be kept for 7 years"},
		{"a base URL that is none", func(c *service.Config) { c.BaseURL = "pay.example" },
			`base URL "pay.example" must be a scheme and a host`},
		{"a base URL in other letters", func(c *service.Config) { c.BaseURL = "https://pūtea.nz:8443/pay" }, "https://xn--ptea-v7a.nz:8443/pay"},
		{"a processor of another environment", func(c *service.Config) { c.Environment = catalogue.Production },
			"the scripted processor is for the sandbox only: it moves no money"},
	} {
		c := newWorld(t).config
		tt.change(&c)
		s, err := service.New(c)
		switch {
		case tt.want == "" && (err != nil || s == nil):
			t.Errorf("%s: %v, want a service", tt.name, err)
		case tt.want != "" && (s != nil || err == nil || !strings.HasPrefix(err.Error(), "service: ") ||
			!strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want an error of the service with %q", tt.name, err, tt.want)
		}
	}
}

func TestCheckDeployment(t *testing.T) {
	sandbox := checkout.ProcessorInfo{Name: "fake", Environment: catalogue.Sandbox}
	live := checkout.ProcessorInfo{Name: "gocardless", Environment: catalogue.Production}
	const noURL = `must be a scheme and a host, such as https://pay.example.nz, and may have a path that does not end in a slash`
	for _, tt := range []struct {
		env  catalogue.Environment
		url  string
		p    checkout.ProcessorInfo
		want string // the whole error; "" if it may be served
	}{
		{catalogue.Sandbox, "http://127.0.0.1:8080", sandbox, ""},
		{catalogue.Sandbox, "https://pay.example.nz", sandbox, ""},
		{catalogue.Production, "https://pay.example.nz:8443/enrol/pay", live, ""},
		{catalogue.Production, "http://pay.example.nz", live, `base URL "http://pay.example.nz" is not https`},
		{catalogue.Production, "https://pay.example.nz", sandbox, "the fake processor is for the sandbox only: it moves no money"},
		{catalogue.Sandbox, "https://pay.example.nz", live, "the gocardless processor is for production"},
		{"staging", "https://pay.example.nz", sandbox, `environment "staging" is neither sandbox nor production`},
		{catalogue.Production, "http://pay.example.nz", sandbox, "base URL \"http://pay.example.nz\" is not https\n" +
			"the fake processor is for the sandbox only: it moves no money"},
		{"", "", live, "environment \"\" is neither sandbox nor production\nthere is no base URL"},
		{catalogue.Sandbox, "https://pay.example.nz/", sandbox, `base URL "https://pay.example.nz/" ` + noURL},
		{catalogue.Sandbox, "https://pay.example.nz/pay/", sandbox, `base URL "https://pay.example.nz/pay/" ` + noURL},
		{catalogue.Sandbox, "pay.example.nz", sandbox, `base URL "pay.example.nz" ` + noURL},
		{catalogue.Sandbox, "javascript:alert(1)", sandbox, `base URL "javascript:alert(1)" ` + noURL},
		{catalogue.Sandbox, "https://u:p@pay.example.nz", sandbox, `base URL "https://u:p@pay.example.nz" ` + noURL},
		{catalogue.Sandbox, "https://pay.example.nz?x=1", sandbox, `base URL "https://pay.example.nz?x=1" ` + noURL},
		{catalogue.Sandbox, "https://pay.example.nz#", sandbox, `base URL "https://pay.example.nz#" ` + noURL},
	} {
		got := ""
		if err := service.CheckDeployment(tt.env, tt.url, tt.p); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("CheckDeployment(%q, %q, %+v) = %q, want %q", tt.env, tt.url, tt.p, got, tt.want)
		}
	}
}

// An address of a page has the path of the base URL, and a link lives as long as its order's links do.
func TestTheSetupLink(t *testing.T) {
	day := 24 * time.Hour
	for lifetime, want := range map[time.Duration]time.Duration{0: 7 * day, 36 * time.Hour: 36 * time.Hour} {
		inWorld(t, func(t *testing.T, w *world) {
			o := w.opened(t, "ORDER-1")
			if want := "https://enrol.example/pay" + service.SetupPath + "?token=" + o.Token; o.SetupURL != want {
				t.Errorf("setup URL %q, want %q", o.SetupURL, want)
			}
			if got := o.Checkout.Latest().Expires.Sub(o.Checkout.CreatedAt); got != want {
				t.Errorf("with a lifetime of %s the link opens for %s, want %s", lifetime, got, want)
			}
		}, func(c *service.Config) {
			c.BaseURL = "https://enrol.example/pay"
			if lifetime > 0 {
				c.SetupLifetime = func(order string) time.Duration {
					return map[string]time.Duration{"ORDER-1": lifetime}[order]
				}
			}
		})
	}
}

// The privacy notice names who gets personal data: as the operator says it or, where that is silent, as the ports do.
func TestTheRecipientsOfPersonalData(t *testing.T) {
	w := newWorld(t, func(c *service.Config) { c.CRM = &crm{} })
	if got := w.Recipients(); len(got) != 1 || got[0].Name != "CRM Ltd" {
		t.Errorf("recipients %+v, want the CRM's company: the processor is this service's own", got)
	}
	bank := []agreement.Recipient{{Name: "Bank", Purpose: "to keep the money"}}
	w = newWorld(t, func(c *service.Config) { c.Recipients = bank })
	if got := w.Recipients(); len(got) != 1 || got[0] != bank[0] {
		t.Errorf("recipients %+v, want %+v", got, bank)
	}
}
