package checkout_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/testdata"
)

// Every file of vectors says what it is, has cases, and names each of them.
func TestEveryFileOfVectorsDescribesItself(t *testing.T) {
	files, err := filepath.Glob("../testdata/*.json")
	if err != nil || len(files) < 12 {
		t.Fatalf("files %q, %v; want those of the folder testdata", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var v map[string]json.RawMessage
		if err := json.Unmarshal(text, &v); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		var description string
		if err := json.Unmarshal(v["description"], &description); err != nil || len(description) < 80 {
			t.Errorf("%s: description %q, %v; want one from which the rule can be implemented", file, description, err)
		}
		for part, value := range v {
			var cases []struct{ Name string }
			if value[0] != '[' || part == "courses" {
				continue
			}
			if err := json.Unmarshal(value, &cases); err != nil || len(cases) == 0 {
				t.Errorf("%s: %s: %d cases, %v", file, part, len(cases), err)
			}
			seen := map[string]bool{}
			for i, c := range cases {
				if c.Name == "" || seen[c.Name] {
					t.Errorf("%s: %s[%d]: name %q is missing or given twice", file, part, i, c.Name)
				}
				seen[c.Name] = true
			}
		}
	}
}

// acceptanceVectors is testdata/acceptance.json.
type acceptanceVectors struct {
	Description   string           `json:"description"`
	LegacyBase    json.RawMessage  `json:"legacy_base"`
	Legacy        []acceptanceCase `json:"legacy"`
	Courses       []courseVector   `json:"courses"`
	CatalogueBase json.RawMessage  `json:"catalogue_base"`
	Catalogue     []acceptanceCase `json:"catalogue"`
	Strings       []struct {
		Name         string `json:"name"`
		Text         string `json:"text"`
		Repeat       int    `json:"repeat"`
		AsIdentifier bool   `json:"as_identifier"`
		AsName       bool   `json:"as_name"`
		Kept         string `json:"kept"`
	} `json:"strings"`
	Dates           []textVector `json:"dates"`
	Emails          []textVector `json:"emails"`
	IdempotencyKeys []textVector `json:"idempotency_keys"`
}

type acceptanceCase struct {
	Name     string         `json:"name"`
	With     map[string]any `json:"with"`
	Refused  []string       `json:"refused"`
	Resolved *struct {
		CourseName string `json:"course_name"`
		Pricing    struct {
			Price     json.Number `json:"course_price"`
			Principal json.Number `json:"amount_to_finance"`
			Upfront   json.Number `json:"upfront_payment"`
		} `json:"pricing"`
		Plan struct {
			Frequency money.Frequency `json:"payment_frequency"`
			Number    int             `json:"number_of_instalments"`
			Regular   json.Number     `json:"instalment_amount"`
			Final     json.Number     `json:"final_instalment_amount"`
			First     string          `json:"first_payment_date"`
		} `json:"plan"`
	} `json:"resolved"`
}

type courseVector struct {
	Code        string                `json:"course_code"`
	Name        string                `json:"course_name"`
	Price       json.Number           `json:"course_price"`
	Upfront     json.Number           `json:"upfront_payment"`
	Active      bool                  `json:"active"`
	Environment catalogue.Environment `json:"environment"`
	Plans       []struct {
		Frequency money.Frequency `json:"payment_frequency"`
		Number    int             `json:"number_of_instalments"`
		Amount    json.Number     `json:"instalment_amount"`
	} `json:"plans"`
}

type textVector struct {
	Name     string `json:"name"`
	Text     string `json:"text"`
	Repeat   int    `json:"repeat"`
	Accepted bool   `json:"accepted"`
}

// with returns the create of a case: the base with some members set.
func (c acceptanceCase) with(t *testing.T, base json.RawMessage) checkout.Create {
	t.Helper()
	b := parseBody(t, string(base))
	for field, value := range c.With {
		section, name, ok := strings.Cut(field, ".")
		if !ok || b[section] == nil && section != "pricing" {
			t.Fatalf("%s sets %q, which is no field", c.Name, field)
		}
		if b[section] == nil {
			b[section] = map[string]any{}
		}
		b[section][name] = value
	}
	return b.create().Normalized()
}

func cents(t *testing.T, n json.Number) money.Cents {
	t.Helper()
	if n == "" {
		return 0
	}
	c, err := money.Parse(n.String())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// expectRefused checks that err is a VALIDATION_ERROR that names these fields, in any order, or nil if no fields are given.
func expectRefused(t *testing.T, err error, want []string) {
	t.Helper()
	code, got := refusalOf(err)
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) || err != nil && code != checkout.CodeValidation {
		t.Errorf("got %v; want fields %q refused", err, want)
	}
}

func TestAcceptanceVectorsOfLegacyProviders(t *testing.T) {
	var v acceptanceVectors
	testdata.Read(t, "acceptance.json", &v)
	for _, tt := range v.Legacy {
		t.Run(tt.Name, func(t *testing.T) {
			expectRefused(t, tt.with(t, v.LegacyBase).Check(catalogue.Legacy), tt.Refused)
		})
	}
}

func TestAcceptanceVectorsOfProvidersWithACatalogue(t *testing.T) {
	var v acceptanceVectors
	testdata.Read(t, "acceptance.json", &v)
	courses := map[string]*catalogue.Course{}
	for _, c := range v.Courses {
		course := catalogue.Course{Code: c.Code, Name: c.Name, Price: cents(t, c.Price), Upfront: cents(t, c.Upfront),
			Active: c.Active, Environment: c.Environment}
		for _, p := range c.Plans {
			course.Options = append(course.Options, catalogue.Option{Frequency: p.Frequency, Number: p.Number, Amount: cents(t, p.Amount)})
		}
		courses[c.Code] = &course
	}
	for _, tt := range v.Catalogue {
		t.Run(tt.Name, func(t *testing.T) {
			c := tt.with(t, v.CatalogueBase)
			err := c.Check(catalogue.Authoritative)
			var got checkout.Intent
			if err == nil {
				got, err = resolve(c, courses[c.CourseCode.Value])
			}
			expectRefused(t, err, tt.Refused)
			if tt.Resolved == nil {
				return
			}
			r := tt.Resolved
			first, err := money.ParseDate(r.Plan.First)
			if err != nil {
				t.Fatal(err)
			}
			want := checkout.Intent{CourseName: r.CourseName,
				Pricing: money.Pricing{Price: cents(t, r.Pricing.Price), Upfront: cents(t, r.Pricing.Upfront), Principal: cents(t, r.Pricing.Principal)},
				Plan: money.Plan{Frequency: r.Plan.Frequency, First: first,
					Instalments: money.Instalments{Number: r.Plan.Number, Regular: cents(t, r.Plan.Regular), Final: cents(t, r.Plan.Final)}}}
			if got != want {
				t.Errorf("resolved to %+v\nwant        %+v", got, want)
			}
		})
	}
}

func TestAcceptanceVectorsOfTexts(t *testing.T) {
	var v acceptanceVectors
	testdata.Read(t, "acceptance.json", &v)
	check := func(t *testing.T, field string, text string, accepted bool, set func(*checkout.Create)) checkout.Create {
		t.Helper()
		c := parseCreate(t, string(v.LegacyBase))
		set(&c)
		c = c.Normalized()
		if code, named := refusalOf(c.Check(catalogue.Legacy)); accepted != (code == "") || !accepted && !slices.Equal(named, []string{field}) {
			t.Errorf("%s %q: accepted %v, fields %q; want %v", field, text, code == "", named, accepted)
		}
		return c
	}
	for _, tt := range v.Strings {
		t.Run(tt.Name, func(t *testing.T) {
			text := strings.Repeat(tt.Text, tt.Repeat)
			c := check(t, checkout.FieldOrderID, text, tt.AsIdentifier, func(c *checkout.Create) { c.OrderID = checkout.Some(text) })
			if c.OrderID.Value != text {
				t.Errorf("the identifier %q is kept as %q", text, c.OrderID.Value)
			}
			kept := text
			if tt.Kept != "" {
				kept = strings.Repeat(tt.Kept, tt.Repeat)
			}
			for field, name := range map[string]func(c *checkout.Create) *checkout.Optional[string]{
				checkout.FieldFirstName:  func(c *checkout.Create) *checkout.Optional[string] { return &c.FirstName },
				checkout.FieldLastName:   func(c *checkout.Create) *checkout.Optional[string] { return &c.LastName },
				checkout.FieldCourseName: func(c *checkout.Create) *checkout.Optional[string] { return &c.CourseName },
			} {
				accepted := tt.AsName || field == checkout.FieldFirstName && strings.TrimSpace(text) == "" // that is no first name
				c := check(t, field, text, accepted, func(c *checkout.Create) { *name(c) = checkout.Some(text) })
				if got := name(&c).Value; tt.AsName && got != kept {
					t.Errorf("%s %q is kept as %q, want %q", field, text, got, kept)
				}
			}
		})
	}
	for _, tt := range v.Dates {
		t.Run(tt.Name, func(t *testing.T) {
			d, err := money.ParseDate(tt.Text)
			check(t, checkout.FieldFirstPayment, tt.Text, tt.Accepted, func(c *checkout.Create) {
				c.First = checkout.Some(d)
				if err != nil {
					c.First = checkout.Unreadable[money.Date](checkout.Fault{Field: checkout.FieldFirstPayment, Message: err.Error()})
				}
			})
		})
	}
	for _, tt := range v.Emails {
		t.Run(tt.Name, func(t *testing.T) {
			check(t, checkout.FieldEmail, tt.Text, tt.Accepted, func(c *checkout.Create) { c.Email = checkout.Some(tt.Text) })
		})
	}
	for _, tt := range v.IdempotencyKeys {
		t.Run(tt.Name, func(t *testing.T) {
			text := strings.Repeat(tt.Text, tt.Repeat)
			check(t, checkout.FieldIdempotencyKey, text, tt.Accepted, func(c *checkout.Create) { c.IdempotencyKey = checkout.Some(text) })
		})
	}
}

// Natural keys are on record in the CRM and at the processor: they may never change.
func TestNaturalKeysAgreeWithVectors(t *testing.T) {
	var v struct {
		Description string `json:"description"`
		Cases       []struct {
			Name        string                `json:"name"`
			Environment catalogue.Environment `json:"environment"`
			Provider    string                `json:"provider_code"`
			Order       string                `json:"provider_order_id"`
			Kind        string                `json:"kind"`
			Key         string                `json:"key"`
		} `json:"cases"`
	}
	testdata.Read(t, "natural_keys.json", &v)
	seen := map[string]string{}
	for _, tt := range v.Cases {
		got := checkout.NaturalKey(tt.Environment, tt.Provider, tt.Order, tt.Kind)
		if got != tt.Key {
			t.Errorf("%s: NaturalKey(%q, %q, %q, %q) = %s, want %s", tt.Name, tt.Environment, tt.Provider, tt.Order, tt.Kind, got, tt.Key)
		}
		if other, taken := seen[got]; taken {
			t.Errorf("%q has the key of %q: %s", tt.Name, other, got)
		}
		seen[got] = tt.Name
	}
}

func TestTheRecordsOfACheckoutHaveNaturalKeys(t *testing.T) {
	c := parseCreate(t, legacyBody)
	opened := c.Open(intentOf(t, c), opening(t)).Next
	got := opened.Records(catalogue.Sandbox)
	want := checkout.Records{
		ContactID:     checkout.NaturalKey(catalogue.Sandbox, "TUI", "ORDER-1", "contact"),
		OpportunityID: checkout.NaturalKey(catalogue.Sandbox, "TUI", "ORDER-1", "opportunity"),
		DDAID:         checkout.NaturalKey(catalogue.Sandbox, "TUI", "ORDER-1", "dda"),
	}
	if got != want {
		t.Errorf("records %+v, want %+v", got, want)
	}
	const number = "PPA-2026-000000001A5"
	for kind, got := range map[string]string{"agreement": opened.AgreementID(catalogue.Sandbox, number),
		"document": opened.DocumentID(catalogue.Sandbox, number)} {
		if want := checkout.NaturalKey(catalogue.Sandbox, "TUI", "ORDER-1", kind+" "+number); got != want {
			t.Errorf("%s %s, want %s", kind, got, want)
		}
	}
}

func TestCheckoutIDsAgreeWithVectors(t *testing.T) {
	var v struct {
		Description string `json:"description"`
		Cases       []struct {
			Name     string `json:"name"`
			Provider string `json:"provider_code"`
			Millis   int64  `json:"unix_milliseconds"`
			Entropy  string `json:"entropy"`
			ID       string `json:"checkout_id"`
		} `json:"cases"`
	}
	testdata.Read(t, "checkout_ids.json", &v)
	for _, tt := range v.Cases {
		entropy, err := hex.DecodeString(tt.Entropy)
		if err != nil || len(entropy) != 10 {
			t.Fatalf("%s: entropy %q has %d bytes, %v", tt.Name, tt.Entropy, len(entropy), err)
		}
		if got := checkout.NewID(tt.Provider, time.UnixMilli(tt.Millis), [10]byte(entropy)); got != tt.ID || !checkout.PlausibleID(got) {
			t.Errorf("%s: NewID(%q, %d, %s) = %s, want %s", tt.Name, tt.Provider, tt.Millis, tt.Entropy, got, tt.ID)
		}
	}
}

func ExampleNewID() {
	fmt.Println(checkout.NewID("KOWHAI", time.UnixMilli(1795132800000), [10]byte{0xff}))
	// Output: KOWHAI-1795132800000-74aaaaaaaaaaaaaa
}

// The record of an enrolment has the same id whenever, and by whomever, it is made.
func ExampleNaturalKey() {
	fmt.Println(checkout.NaturalKey(catalogue.Sandbox, "KOWHAI", "ENROL-1", "contact"))
	// Output: 17ccda669d5e58760e9bbca20ead294d
}
