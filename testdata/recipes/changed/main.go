// Command changed lists the enrolments that changed behind a cursor. It takes BASE, KEY and CURSOR from the environment.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/provider-checkout/provider-checkout/adapters/clients/go/providercheckout"
)

func main() {
	ctx, client := context.Background(), providercheckout.New(os.Getenv("BASE"), os.Getenv("KEY"))

	page, err := client.ListEnrolments(ctx, providercheckout.ListEnrolmentsOptions{After: os.Getenv("CURSOR")})
	if err != nil {
		log.Fatal(err)
	}
	for _, enrolment := range page.Enrolments {
		fmt.Println(enrolment.ProviderOrderID, enrolment.Status)
	}
	fmt.Println("next", page.Next)
}
