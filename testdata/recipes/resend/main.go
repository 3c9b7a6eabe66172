// Command resend has an event sent again. It takes BASE, KEY and EVENT from the environment.
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

	resent, err := client.RedeliverEvent(ctx, os.Getenv("EVENT"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("sent again:", resent.EventID)
}
