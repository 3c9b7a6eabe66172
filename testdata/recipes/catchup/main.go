// Command catchup lists the events behind a cursor. It takes BASE, KEY and CURSOR from the environment; CURSOR is empty the
// first time.
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

	cursor := os.Getenv("CURSOR")
	for {
		page, err := client.ListEvents(ctx, providercheckout.ListEventsOptions{After: cursor})
		if err != nil {
			log.Fatal(err)
		}
		for _, event := range page.Events { // take it as your receiver does, once: event.Body is the text that is sent
			fmt.Println(event.EventID, event.Status)
		}
		if cursor = page.Next; len(page.Events) == 0 {
			break
		}
	}
	fmt.Println("next", cursor) // keep it
}
