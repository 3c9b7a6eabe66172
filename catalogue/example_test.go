package catalogue_test

import (
	"fmt"

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
