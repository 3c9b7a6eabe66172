// Command ready asks a service what it is, and whether it is ready. It takes BASE from the environment and needs no key.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/provider-checkout/provider-checkout/adapters/clients/go/providercheckout"
)

func main() {
	ctx, client := context.Background(), providercheckout.New(os.Getenv("BASE"), "")

	service, err := client.GetService(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(service.Environment, service.Version)

	environment, err := client.GetEnvironment(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ready:", environment.Readiness.ReadyForAPICalls)
}
