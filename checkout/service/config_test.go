package service_test

import (
	"maps"
	"strings"
	"sync"
	"testing"

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

// counts holds how often each thing was counted.
type counts struct {
	mu  sync.Mutex
	all map[service.Count]int
}

func counted() (*counts, func(*service.Config)) {
	n := &counts{all: make(map[service.Count]int)}
	return n, func(c *service.Config) { c.Count = n.count }
}

func (n *counts) count(o service.Count, provider string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all[o]++
	if provider != "KOWHAI" {
		n.all[o+" of "+service.Count(provider)]++
	}
}

// Every count is of what it says, once for each time that it happens, and of its provider.
func TestWhatHappensIsCounted(t *testing.T) {
	n, count := counted()
	seen := map[service.Count]bool{}
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		var cmd checkout.Confirm
		for _, step := range []struct {
			happens func()
			want    map[service.Count]int
		}{
			{func() { w.opened(t, "A") }, map[service.Count]int{service.CountCreate: 1}},
			{func() {
				w.opened(t, "A")
				w.Create(t.Context(), caller, checkout.Create{ProviderCode: checkout.Some("KOWHAI")})
			}, nil},
			{func() { cmd = w.ready(t, "A") }, nil},
			{func() { w.confirms(t, cmd); w.confirms(t, cmd) }, map[service.Count]int{service.CountConfirm: 1, service.CountRepeatedConfirm: 1}},
			{func() {
				for _, m := range []checkout.MandateStatus{checkout.MandateFailed, checkout.MandateCancelled, checkout.MandateExpired, checkout.MandateBlocked} {
					w.becomes(t, m, "")
				}
			}, map[service.Count]int{service.CountMandateFailed: 1, service.CountMandateCancelled: 1, service.CountMandateExpired: 1,
				service.CountMandateBlocked: 1}},
			{func() { cmd = w.ready(t, "F"); w.printer.fail = 2; w.confirms(t, cmd) }, map[service.Count]int{service.CountCreate: 1,
				service.CountConfirm: 1, service.CountUnprinted: 1}},
			{func() { c.says(errBroken); w.opened(t, "D") }, map[service.Count]int{service.CountCreate: 1}},
			{func() { c.says(&checkout.CRMRefusal{Code: "RULE"}); w.opened(t, "E") },
				map[service.Count]int{service.CountCreate: 1, service.CountSyncRefused: 1}},
		} {
			clear(n.all)
			step.happens()
			if w.AwaitSent(); !maps.Equal(n.all, step.want) {
				t.Errorf("counted %v, want %v", n.all, step.want)
			}
			for o := range n.all {
				seen[o] = true
			}
		}
	}, count)
	for _, o := range service.Counts() {
		if !seen[o] {
			t.Errorf("nothing counts %q", o)
		}
	}
}
