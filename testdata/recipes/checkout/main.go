// Command checkout enrols a student: create, have the payer set up the direct debit, poll, confirm.
// It takes BASE, KEY, PROVIDER, ORDER, COURSE and FIRST_PAYMENT (YYYY-MM-DD) from the environment.
// A backend keeps the order id and the checkout id with its enrolment, and polls from a job: the
// payer may take days.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/clients/go/providercheckout"
)

func main() {
	log.SetFlags(0)
	ctx := context.Background()
	client := providercheckout.New(os.Getenv("BASE"), os.Getenv("KEY"))
	firstPayment := os.Getenv("FIRST_PAYMENT")

	// The order id is made once for an enrolment, so that a create that is sent again opens no second checkout.
	order := providercheckout.EnrolmentKey{ProviderCode: os.Getenv("PROVIDER"), ProviderOrderID: os.Getenv("ORDER")}
	created, err := client.CreateCheckout(ctx, providercheckout.CatalogueCreateRequest{
		Provider: order,
		Student:  providercheckout.Student{FirstName: "Aroha", LastName: "Ngata", Email: "aroha@students.example.ac.nz"},
		Course:   providercheckout.CatalogueCreateRequestCourse{CourseCode: os.Getenv("COURSE")},
		Plan:     providercheckout.CatalogueCreateRequestPlan{PaymentFrequency: "Weekly", FirstPaymentDate: firstPayment},
	}, providercheckout.CreateCheckoutOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(created.DirectDebit.SetupURL) // send the payer's browser there

	time.Sleep(time.Duration(created.DirectDebit.NextPollAfter) * time.Second)
	polled, err := client.GetCheckout(ctx, created.Checkout.CheckoutID)
	for err == nil && polled.DirectDebit.NextPollAfter > 0 {
		time.Sleep(time.Duration(polled.DirectDebit.NextPollAfter) * time.Second)
		polled, err = client.GetCheckout(ctx, created.Checkout.CheckoutID)
	}
	if err != nil {
		log.Fatal(err)
	}

	if polled.Checkout.Status == "cancelled" {
		log.Fatal("the checkout is cancelled")
	}
	confirmed, err := client.ConfirmCheckout(ctx, created.Checkout.CheckoutID, providercheckout.ConfirmRequest{
		Provider: providercheckout.ConfirmRequestProvider(order),
		Checkout: providercheckout.ConfirmRequestCheckout{
			CheckoutID:    created.Checkout.CheckoutID,
			CheckoutToken: cmp.Or(created.DirectDebit.Token, "confirmed"),
			OpportunityID: created.Records.OpportunityID,
			DDAID:         created.DirectDebit.DDAID,
		},
		Payment: providercheckout.ConfirmRequestPayment{
			PaymentMethod: "service_payment_plan", FirstPaymentDate: firstPayment, DepositConfirmed: true,
		},
		// What the payer has ticked: ask, never assume.
		Declarations: providercheckout.ConfirmRequestDeclarations{
			PaymentPlanAccepted: true, InformationConfirmed: true, PrivacyConsentAccepted: true,
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	// After a lost answer this is AlreadyConfirmed, with the same agreement.
	fmt.Println("agreement", confirmed.Agreement.Number)
}
