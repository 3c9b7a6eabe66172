// Command receiver takes events. It takes SECRET, the signing secret, and LISTEN (HOST:PORT) from the environment, and prints
// each event once. A backend keeps the ids in its database, with the work that it does about the event.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/clients/go/providercheckout"
)

const longestBody = 64 << 10

var (
	mu    sync.Mutex
	taken = map[string]bool{} // ids of events
)

func main() {
	http.HandleFunc("POST /", receive)
	log.Fatal(http.ListenAndServe(os.Getenv("LISTEN"), nil))
}

func receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, longestBody)) // as it came, before any parser
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	event, err := providercheckout.VerifyEvent(os.Getenv("SECRET"), r.Header.Get(providercheckout.SignatureHeader), body, time.Now())
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	mu.Lock()
	defer mu.Unlock()
	if !taken[event.ID()] {
		taken[event.ID()] = true
		switch event := event.(type) {
		case *providercheckout.CheckoutConfirmedEvent:
			fmt.Println("confirmed", event.Data.ProviderOrderID)
		case *providercheckout.AgreementGeneratedEvent:
			fmt.Println("agreement", event.Data.PaymentPlanAgreementNumber)
		}
	}
	w.WriteHeader(http.StatusNoContent) // also for an event that it has taken before, or does not know
}
