// Command cancel cancels a checkout before its confirm. It takes BASE, KEY and CHECKOUT from the environment.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/provider-checkout/provider-checkout/adapters/clients/go/providercheckout"
)

func main() {
	ctx, client := context.Background(), providercheckout.New(os.Getenv("BASE"), os.Getenv("KEY"))

	request := providercheckout.CancelRequest{Reason: "The student chose another course."}
	answer, err := client.CancelCheckout(ctx, os.Getenv("CHECKOUT"), request)
	if refusal := new(providercheckout.Error); errors.As(err, &refusal) {
		fmt.Println(refusal.Code) // CodeConflict: it is confirmed
	} else if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Checkout.Status)
}
