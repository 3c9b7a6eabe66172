package catalogue_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// kowhai is a configuration without a fault, with everything in it that there can be.
func kowhai() catalogue.Configuration {
	return catalogue.Configuration{
		Provider: catalogue.Provider{
			Code:             "KOWHAI",
			Name:             "Kōwhai Institute",
			AccountID:        "acc-kowhai",
			Environment:      catalogue.Production,
			Active:           true,
			APIEnabled:       true,
			EnrolmentOrigins: []string{"https://enrol.kowhai.example", "https://kowhai.example:8443"},
			SuccessURL:       "https://enrol.kowhai.example/done?from=setup",
			CancelURL:        "https://enrol.kowhai.example/cancelled",
			Branding: catalogue.Branding{
				DisplayName:   "Kōwhai",
				PrimaryColour: "#1f6F54",
				LogoURL:       "https://kowhai.example/logo.svg",
				SupportEmail:  "help@kowhai.example",
			},
			Destination: catalogue.Destination{
				URL:    "https://hooks.kowhai.example/checkout",
				Secret: "whsec_0123456789abcdefgh",
			},
			Mode: catalogue.Authoritative,
		},
		Courses: []catalogue.Course{sample.Course()},
	}
}

func TestCheckTakes(t *testing.T) {
	tests := []struct {
		name   string
		change func(*catalogue.Configuration)
	}{
		{"everything that there can be", func(*catalogue.Configuration) {}},
		{"no more than there must be", func(c *catalogue.Configuration) {
			c.Provider = catalogue.Provider{Code: "K", Name: "K", Environment: "production", Mode: catalogue.Legacy}
			c.Courses = nil
		}},
		{"a catalogue without courses", func(c *catalogue.Configuration) { c.Courses = nil }},
		{"a provider that is not linked to an account", func(c *catalogue.Configuration) { c.Provider.AccountID = "" }},
		{"a code of 32 characters", func(c *catalogue.Configuration) { c.Provider.Code = "0_-" + strings.Repeat("Z", 29) }},
		{"a name of 255 characters of two bytes", func(c *catalogue.Configuration) { c.Provider.Name = strings.Repeat("ō", 255) }},
		{"an http destination in the sandbox", func(c *catalogue.Configuration) {
			c.Provider.Environment = catalogue.Sandbox
			c.Provider.Destination.URL = "http://192.0.2.1:9000/hook"
		}},
		{"http://localhost pages in the sandbox", func(c *catalogue.Configuration) {
			c.Provider.Environment = catalogue.Sandbox
			c.Provider.SuccessURL = "http://localhost:3000/done"
			c.Provider.CancelURL = "http://localhost/cancelled"
			c.Provider.EnrolmentOrigins = []string{"http://localhost:3000"}
		}},
		{"16 origins", func(c *catalogue.Configuration) {
			c.Provider.EnrolmentOrigins = slices.Repeat([]string{"https://a.example"}, 16)
		}},
		{"addresses of 2048 bytes", func(c *catalogue.Configuration) {
			c.Provider.SuccessURL = "https://kowhai.example/" + strings.Repeat("a", 2048-23)
			c.Provider.Destination.URL = c.Provider.SuccessURL
		}},
		{"a host of 253 characters, in labels of 63", func(c *catalogue.Configuration) {
			c.Provider.CancelURL = "https://" + strings.Repeat(strings.Repeat("a", 63)+".", 3) + strings.Repeat("a", 61)
		}},
		{"the first and the last port", func(c *catalogue.Configuration) {
			c.Provider.SuccessURL, c.Provider.CancelURL = "https://kowhai.example:1", "https://kowhai.example:65535"
		}},
		{"a course code of 255 characters", func(c *catalogue.Configuration) { c.Courses[0].Code = strings.Repeat("C", 255) }},
		{"a secret of six different letters", func(c *catalogue.Configuration) {
			c.Provider.Destination.Secret = strings.Repeat("a", 19) + "bcdef"
		}},
		{"an IPv6 destination", func(c *catalogue.Configuration) { c.Provider.Destination.URL = "https://[2001:db8::1]:443/hook" }},
		{"a secret of 24 bytes in other letters", func(c *catalogue.Configuration) { c.Provider.Destination.Secret = "ōāēīūŌĀĒĪŪéü" }},
		{"a secret of decimal digits", func(c *catalogue.Configuration) { c.Provider.Destination.Secret = "314159265358979323846264" }},
		{"a course of the other environment", func(c *catalogue.Configuration) { c.Courses[0].Environment = catalogue.Sandbox }},
		{"the largest price", func(c *catalogue.Configuration) {
			c.Courses[0].Price, c.Courses[0].Options = money.Max, []catalogue.Option{{Frequency: money.Monthly, Number: 600}}
		}},
		{"one cent an instalment", func(c *catalogue.Configuration) {
			c.Courses[0].Price, c.Courses[0].Upfront = 6_00, 0
			c.Courses[0].Options = []catalogue.Option{{Frequency: money.Weekly, Number: 600}, {Frequency: money.Monthly, Amount: 1}}
		}},
		{"an instalment above the principal", func(c *catalogue.Configuration) { c.Courses[0].Options[1].Amount = 9999_00 }},
		{"a course that is not for sale", func(c *catalogue.Configuration) { c.Courses[0].Active = false }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := kowhai()
			tt.change(&c)
			if faults := c.Check(); faults != nil {
				t.Errorf("Check() = %q; want none", faults)
			}
		})
	}
}

func TestCheckRefusesProvider(t *testing.T) {
	type provider = catalogue.Provider
	tests := []struct {
		name   string
		change func(*provider)
		place  string
	}{
		{"no code", func(p *provider) { p.Code = "" }, "provider_code"},
		{"a code in lower case", func(p *provider) { p.Code = "Kowhai" }, "provider_code"},
		{"a code that begins with a hyphen", func(p *provider) { p.Code = "-K" }, "provider_code"},
		{"a code of 33 characters", func(p *provider) { p.Code = strings.Repeat("K", 33) }, "provider_code"},
		{"a code with a macron", func(p *provider) { p.Code = "KŌWHAI" }, "provider_code"},
		{"no name", func(p *provider) { p.Name = "" }, "name"},
		{"a name of spaces", func(p *provider) { p.Name = " \u00a0" }, "name"},
		{"a name with a line feed", func(p *provider) { p.Name = "a\nb" }, "name"},
		{"a name with U+0000", func(p *provider) { p.Name = "a\x00b" }, "name"},
		{"a name with U+0085", func(p *provider) { p.Name = "a\u0085b" }, "name"},
		{"a name with a stray byte", func(p *provider) { p.Name = "a\xff" }, "name"},
		{"a name of 256 characters", func(p *provider) { p.Name = strings.Repeat("ō", 256) }, "name"},
		{"an account with a tab", func(p *provider) { p.AccountID = "a\tb" }, "account_id"},
		{"no environment", func(p *provider) { p.Environment = "" }, "environment"},
		{"an unknown environment", func(p *provider) { p.Environment = "Production" }, "environment"},
		{"no pricing mode", func(p *provider) { p.Mode = "" }, "courses"},
		{"courses of a legacy provider", func(p *provider) { p.Mode = catalogue.Legacy }, "courses"},
		{"a display name with a tab", func(p *provider) { p.Branding.DisplayName = "\t" }, "branding.display_name"},
		{"an origin in other letters", func(p *provider) { p.EnrolmentOrigins = []string{"https://kōwhai.nz"} }, "enrolment_origins[0]"},
		{"17 origins", func(p *provider) { p.EnrolmentOrigins = slices.Repeat([]string{"https://a.example"}, 17) }, "enrolment_origins"},
		{"a logo of a kind that may hold a script", func(p *provider) { p.Branding.LogoURL = "data:image/svg+xml;base64,PHN2Zz4=" }, "branding.logo_url"},
		{"a logo that is not base64", func(p *provider) { p.Branding.LogoURL = "data:image/png;base64,?" }, "branding.logo_url"},
		{"a logo of another kind than it says", func(p *provider) { p.Branding.LogoURL = picture("image/jpeg", 9) }, "branding.logo_url"},
		{"a logo that is too large", func(p *provider) { p.Branding.LogoURL = picture("image/png", catalogue.MaxLogo+1) }, "branding.logo_url"},
		{"a colour by name", func(p *provider) { p.Branding.PrimaryColour = "green" }, "branding.primary_colour"},
		{"a short colour", func(p *provider) { p.Branding.PrimaryColour = "#1f6" }, "branding.primary_colour"},
		{"a colour with a stylesheet behind it", func(p *provider) { p.Branding.PrimaryColour = "#1f6f54;" }, "branding.primary_colour"},
		{"a support address that is no e-mail address", func(p *provider) { p.Branding.SupportEmail = "Help <help@kowhai.example>" }, "branding.support_email"},
		{"a logo over http", func(p *provider) { p.Branding.LogoURL = "http://kowhai.example/logo.svg" }, "branding.logo_url"},
		{"a destination at a cloud's metadata", func(p *provider) { p.Destination.URL = "http://169.254.169.254/latest" }, "webhook.url"},
		{"a destination at a cloud's metadata by IPv6", func(p *provider) { p.Destination.URL = "https://[fd00:ec2::254]/" }, "webhook.url"},
		{"a destination at Azure's host", func(p *provider) { p.Destination.URL = "https://168.63.129.16/" }, "webhook.url"},
		{"a destination at IPv4 in IPv6", func(p *provider) { p.Destination.URL = "https://[::ffff:169.254.169.254]/" }, "webhook.url"},
		{"a destination at no address", func(p *provider) { p.Destination.URL = "https://0.0.0.0/" }, "webhook.url"},
		{"a destination at many hosts", func(p *provider) { p.Destination.URL = "https://[ff02::1]/" }, "webhook.url"},
		{"a destination at the port of another protocol", func(p *provider) { p.Destination.URL = "https://hooks.example:22/" }, "webhook.url"},
		{"a destination on a private network in production", func(p *provider) {
			p.Environment, p.Destination.URL = catalogue.Production, "https://10.0.0.1/"
		}, "webhook.url"},
		{"a destination on the machine in production", func(p *provider) {
			p.Environment, p.Destination.URL = catalogue.Production, "https://[::1]/"
		}, "webhook.url"},
		{"a destination without a secret", func(p *provider) { p.Destination.Secret = "" }, "webhook.signing_secret"},
		{"a secret without a destination", func(p *provider) { p.Destination.URL = "" }, "webhook.url"},
		{"a secret of 23 bytes", func(p *provider) { p.Destination.Secret = strings.Repeat("s", 23) }, "webhook.signing_secret"},
		{"a secret of one letter", func(p *provider) { p.Destination.Secret = strings.Repeat("a", 24) }, "webhook.signing_secret"},
		{"a prefix and one letter", func(p *provider) { p.Destination.Secret = "whsec_" + strings.Repeat("a", 24) }, "webhook.signing_secret"},
		{"a prefix and two letters", func(p *provider) { p.Destination.Secret = "whsec_" + strings.Repeat("ab", 12) }, "webhook.signing_secret"},
		{"five letters", func(p *provider) { p.Destination.Secret = strings.Repeat("a", 20) + "bcde" }, "webhook.signing_secret"},
		{"a word again and again", func(p *provider) { p.Destination.Secret = strings.Repeat("swordfish", 4) }, "webhook.signing_secret"},
		{"a rate below zero", func(p *provider) { p.RateLimit = -1 }, "rate_limit"},
		{"a secret with a line feed", func(p *provider) { p.Destination.Secret += "\n" }, "webhook.signing_secret"},
		{"a secret with a stray byte", func(p *provider) { p.Destination.Secret += "\xff" }, "webhook.signing_secret"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := kowhai()
			tt.change(&c.Provider)
			wantFaultAt(t, c, tt.place)
		})
	}
}

func TestCheckRefusesCourse(t *testing.T) {
	type course = catalogue.Course
	tests := []struct {
		name   string
		change func(*course)
		place  string
	}{
		{"no code", func(c *course) { c.Code = "" }, "course_code"},
		{"a code of 256 characters", func(c *course) { c.Code = strings.Repeat("C", 256) }, "course_code"},
		{"a code with a control character", func(c *course) { c.Code = "C\x7f" }, "course_code"},
		{"no name", func(c *course) { c.Name = "" }, "course_name"},
		{"no environment", func(c *course) { c.Environment = "" }, "environment"},
		{"no price", func(c *course) { c.Price = 0 }, "course_price"},
		{"a negative price", func(c *course) { c.Price = -1 }, "course_price"},
		{"a price above the largest amount", func(c *course) { c.Price = money.Max + 1 }, "course_price"},
		{"a negative upfront payment", func(c *course) { c.Upfront = -1 }, "upfront_payment"},
		{"an upfront payment of the whole price", func(c *course) { c.Upfront = c.Price }, "upfront_payment"},
		{"no way to pay", func(c *course) { c.Options = nil }, "plans"},
		{"an unknown frequency", func(c *course) { c.Options[0].Frequency = "weekly" }, "plans[0].payment_frequency"},
		{"a frequency given twice", func(c *course) { c.Options[1].Frequency = money.Weekly }, "plans[1].payment_frequency"},
		{"a plan that fixes nothing", func(c *course) { c.Options[0].Number = 0 }, "plans[0]"},
		{"a plan that fixes number and amount", func(c *course) { c.Options[0].Amount = 1_00 }, "plans[0]"},
		{"a negative number", func(c *course) { c.Options[0].Number = -1 }, "plans[0].number_of_instalments"},
		{"601 instalments", func(c *course) { c.Options[0].Number = 601 }, "plans[0].number_of_instalments"},
		{"under a cent an instalment", func(c *course) { c.Price, c.Upfront, c.Options = 51, 0, c.Options[:1] }, "plans[0].number_of_instalments"},
		{"a negative amount", func(c *course) { c.Options[1].Amount = -1 }, "plans[1].instalment_amount"},
		{"an amount above the largest", func(c *course) { c.Options[1].Amount = money.Max + 1 }, "plans[1].instalment_amount"},
		{"an amount that takes 601 instalments", func(c *course) { c.Options[1].Amount = 4_64 }, "plans[1].instalment_amount"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := kowhai()
			tt.change(&c.Courses[0])
			wantFaultAt(t, c, "courses[0]."+tt.place)
		})
	}
	t.Run("a code given twice", func(t *testing.T) {
		c := kowhai()
		c.Courses = append(c.Courses, sample.Course())
		wantFaultAt(t, c, "courses[1].course_code")
	})
}

func TestCheckRefusesURLs(t *testing.T) {
	const everywhere, pages, production, origins = "everywhere", "pages", "production", "origins"
	tests := []struct {
		name, url, where string
	}{
		{"a relative address", "/done", everywhere},
		{"no host", "https:///done", everywhere},
		{"an opaque address", "https:kowhai.example", everywhere},
		{"another scheme", "ftp://kowhai.example", everywhere},
		{"a script", "javascript:alert(1)", everywhere},
		{"a user name", "https://user@kowhai.example", everywhere},
		{"a user name and a password", "https://user:password@kowhai.example", everywhere},
		{"a fragment", "https://kowhai.example/#done", everywhere},
		{"an empty fragment", "https://kowhai.example#", everywhere},
		{"a space", "https://kowhai.example/a b", everywhere},
		{"a line feed", "https://kowhai.example/\n", everywhere},
		{"a backslash", `https://kowhai.example\@evil.example`, everywhere},
		{"a quotation mark", `https://kowhai.example/"`, everywhere},
		{"a letter outside ASCII", "https://kōwhai.example", everywhere},
		{"an escaped letter in the host", "https://k%C5%8Dwhai.example", everywhere},
		{"a letter that is folded to one of ASCII", "https://%C5%BFite.example", everywhere},
		{"a semicolon in the host", "https://kowhai.example;script-src", everywhere},
		{"a wildcard in the host", "https://*.kowhai.example", everywhere},
		{"an empty label", "https://kowhai..example", everywhere},
		{"a colon without a port", "https://kowhai.example:", everywhere},
		{"port 0", "https://kowhai.example:0", everywhere},
		{"port 65536", "https://kowhai.example:65536", everywhere},
		{"an IPv6 address with a zone", "https://[fe80::1%25eth0]", everywhere},
		{"2049 bytes", "https://kowhai.example/" + strings.Repeat("a", 2049-23), everywhere},
		{"a host of 254 characters", "https://" + strings.Repeat(strings.Repeat("a", 63)+".", 3) + strings.Repeat("a", 62), everywhere},
		{"a label of 64 characters", "https://" + strings.Repeat("a", 64) + ".example", everywhere},
		{"a host with a dot behind it", "https://kowhai.example.", everywhere},
		{"http", "http://kowhai.example", pages},
		{"a host that begins with localhost", "http://localhost.evil.example", pages},
		{"http in production", "http://kowhai.example", production},
		{"http://localhost in production", "http://localhost:3000", production},
		{"an origin with a slash", "https://kowhai.example/", origins},
		{"an origin with a query", "https://kowhai.example?", origins},
		{"an origin in upper case", "https://Kowhai.example", origins},
		{"an origin with the scheme in upper case", "HTTPS://kowhai.example", origins},
		{"an opaque origin", "null", origins},
		{"any origin", "*", origins},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := kowhai()
			if tt.where != production {
				c.Provider.Environment = catalogue.Sandbox
			}
			if tt.where == everywhere || tt.where == production {
				c.Provider.Destination.URL = tt.url
				wantFaultAt(t, c, "webhook.url")
				c.Provider.Destination = catalogue.Destination{}
			}
			if tt.where != origins {
				c.Provider.SuccessURL = tt.url
				wantFaultAt(t, c, "success_url")
				c.Provider.SuccessURL, c.Provider.CancelURL = "", tt.url
				wantFaultAt(t, c, "cancel_url")
				c.Provider.CancelURL = ""
			}
			c.Provider.EnrolmentOrigins[1] = tt.url
			wantFaultAt(t, c, "enrolment_origins[1]")
		})
	}
}

func TestCheckTellsEveryFaultButNoneThatOnlyFollows(t *testing.T) {
	c := kowhai()
	c.Provider.Name = ""
	c.Provider.Environment = "staging"                  // not also: http is for the sandbox
	c.Provider.SuccessURL = "http://localhost:3000"     //
	c.Provider.Destination.URL = "http://hooks.example" //
	c.Courses[0].Price = 0                              // not also: the upfront payment is not below it, nor any plan
	c.Courses = append(c.Courses, sample.Course(), catalogue.Course{})
	c.Courses[1].Options[0].Number = 601
	want := []string{
		"name", "environment", "courses[0].course_price", "courses[1].plans[0].number_of_instalments", "courses[1].course_code",
		"courses[2].course_code", "courses[2].course_name", "courses[2].environment", "courses[2].course_price", "courses[2].plans",
	}
	if got := places(c.Check()); !slices.Equal(got, want) {
		t.Errorf("faults at %q; want %q", got, want)
	}
}

func TestCheckShowsNoSecret(t *testing.T) {
	c := kowhai()
	c.Provider.Destination.Secret = "hush\n"
	for _, fault := range c.Check() {
		if strings.Contains(fault.Message, "hush") {
			t.Errorf("the secret is shown: %s", fault.Message)
		}
	}
}

func wantFaultAt(t *testing.T, c catalogue.Configuration, place string) {
	t.Helper()
	if got := places(c.Check()); !slices.Equal(got, []string{place}) {
		t.Errorf("faults at %q; want one at %q", got, place)
	}
}

func places(faults []catalogue.Fault) []string {
	var places []string
	for _, f := range faults {
		places = append(places, f.Place)
	}
	return places
}

// What a server would refuse to send to is refused beforehand.
func TestEventsGoToTheirPortsOnly(t *testing.T) {
	for port, allowed := range map[string]bool{"": true, ":443": true, ":1024": true, ":8443": true, ":25": false, ":1023": false} {
		for _, env := range []catalogue.Environment{catalogue.Production, catalogue.Sandbox} {
			c := kowhai()
			c.Provider.Environment = env
			c.Provider.Destination.URL = "https://hooks.kowhai.example" + port
			found := slices.Contains(places(c.Check()), "webhook.url")
			if found == allowed {
				t.Errorf("port %q in %s: a fault at webhook.url is %v", port, env, found)
			}
		}
	}
}

// Whoever writes a host in its own letters is told the form that browsers send.
func TestAHostInOtherLettersIsToldInASCII(t *testing.T) {
	c := kowhai()
	c.Provider.EnrolmentOrigins = []string{"https://kōwhai.nz:8443"}
	if faults := c.Check(); len(faults) != 1 || !strings.Contains(faults[0].Message, "https://xn--kwhai-g9a.nz:8443") {
		t.Errorf("Check = %v", faults)
	}
}
