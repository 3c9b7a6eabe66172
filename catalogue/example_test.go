package catalogue_test

import (
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/money"
)

func ExampleCourse_Resolve() {
	course := catalogue.Course{
		Code:        "NZDIP",
		Name:        "Diploma in Business",
		Price:       2990_00,
		Upfront:     200_00,
		Active:      true,
		Environment: catalogue.Sandbox,
		Options: []catalogue.Option{
			{Frequency: money.Weekly, Number: 52},
			{Frequency: money.Fortnightly, Amount: 120_00},
		},
	}
	for _, frequency := range []money.Frequency{money.Weekly, money.Fortnightly, money.Monthly} {
		pricing, plan, err := course.Resolve(catalogue.Sandbox, frequency)
		if err != nil {
			fmt.Printf("%s: %v\n", frequency, err)
			continue
		}
		fmt.Printf("%s: %v upfront, %d × %v and %v\n", frequency, pricing.Upfront, plan.Number-1, plan.Regular, plan.Final)
	}
	// Output:
	// Weekly: 200.00 upfront, 51 × 53.65 and 53.85
	// Fortnightly: 200.00 upfront, 23 × 120.00 and 30.00
	// Monthly: course has no such plan
}

func ExampleProvider_Usable() {
	provider := catalogue.Provider{
		Code:        "KOWHAI",
		Environment: catalogue.Sandbox,
		Active:      true,
		APIEnabled:  true,
	}
	fmt.Println(provider.Usable(catalogue.Sandbox))
	provider.AccountID = "acc-kowhai"
	fmt.Println(provider.Usable(catalogue.Sandbox))
	fmt.Println(provider.Usable(catalogue.Production))
	// Output:
	// provider KOWHAI is not linked to an account
	// <nil>
	// provider KOWHAI is configured for another environment than production
}

func ExampleConfiguration_Check() {
	c := catalogue.Configuration{
		Provider: catalogue.Provider{
			Code:        "KOWHAI",
			Name:        "Kōwhai Institute",
			Environment: catalogue.Production,
			SuccessURL:  "http://enrol.kowhai.example/done",
			Mode:        catalogue.Authoritative,
		},
		Courses: []catalogue.Course{{
			Code:        "NZDIP",
			Name:        "Diploma in Business",
			Price:       2990_00,
			Environment: catalogue.Production,
			Options:     []catalogue.Option{{Frequency: money.Weekly}},
		}},
	}
	for _, fault := range c.Check() {
		fmt.Println(fault.Place, fault.Message)
	}
	// Output:
	// success_url must begin with https://
	// courses[0].plans[0] must fix number_of_instalments or instalment_amount
}

func ExampleDiff() {
	before := catalogue.Configuration{
		Provider: catalogue.Provider{Code: "KOWHAI", Active: true, Mode: catalogue.Legacy},
	}
	after := before
	after.Provider.Active = false
	after.Provider.Destination.Secret = "whsec_never-shown-anywhere"
	for _, line := range catalogue.Diff([]catalogue.Configuration{before}, []catalogue.Configuration{after}) {
		fmt.Println(line)
	}
	// Output:
	// ~ provider KOWHAI: active true → false, signing secret changed
}

func ExampleNewKey() {
	now := time.Date(2027, time.February, 1, 9, 30, 0, 0, time.UTC)
	var entropy [32]byte // in earnest from crypto/rand
	text, key := catalogue.NewKey("KOWHAI", catalogue.Sandbox, now, entropy)
	hash, ok := catalogue.HashKey(text)
	fmt.Println(text)
	fmt.Println(key.ID, ok, hash == key.Hash)
	// Output:
	// pck_sandbox_aaaaaaaa_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_2e5ywfa
	// aaaaaaaa true true
}
