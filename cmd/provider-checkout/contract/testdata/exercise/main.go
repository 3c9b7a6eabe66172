// Command exercise has the client for Go judge the vectors of signatures, send amounts, and call a server that misbehaves. It
// prints what comes of it, as do the other exercises.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/clients/go/providercheckout"
	"github.com/provider-checkout/provider-checkout/events"
)

func main() {
	base := os.Getenv("BASE")
	client := providercheckout.New(base, "pck_1")
	client.Attempts = 3
	client.HTTP.Timeout = 10 * time.Second
	wrong, err := judge(base + "/vectors")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("vectors:", wrong, "wrong")
	created, err := client.CreateCheckout(context.Background(), providercheckout.LegacyCreateRequest{
		Pricing: providercheckout.LegacyCreateRequestPricing{CoursePrice: 1000_10, AmountToFinance: 1000_00, UpfrontPayment: 10},
		Plan:    providercheckout.LegacyCreateRequestPlan{NumberOfInstalments: 3},
	}, providercheckout.CreateCheckoutOptions{IdempotencyKey: "mine"})
	fmt.Println("created:", created.Pricing.CoursePrice, created.Plan.NumberOfInstalments, err)
	outcomes := make([]string, len(os.Args)-1)
	var calls sync.WaitGroup
	for i, name := range os.Args[1:] {
		calls.Go(func() {
			_, err := client.GetCheckout(context.Background(), name)
			outcomes[i] = outcome(err)
		})
	}
	calls.Wait()
	for i, name := range os.Args[1:] {
		fmt.Println(name+":", outcomes[i])
	}
}

func outcome(err error) string {
	if err == nil {
		return "answered"
	}
	refusal := new(providercheckout.Error)
	if !errors.As(err, &refusal) {
		return "lost"
	}
	text := fmt.Sprint(refusal.Status, " ", refusal.Code)
	for _, d := range refusal.Details {
		text += " " + d.Field
	}
	return text
}

// judge returns how many vectors are judged otherwise than they should be.
func judge(address string) (wrong int, err error) {
	answer, err := http.Get(address)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	type vector struct {
		Secret, Header, Body, Reason string
		Timestamp, Now               int64
	}
	var vectors struct{ Accepted, Refused []vector }
	if err := json.NewDecoder(answer.Body).Decode(&vectors); err != nil {
		return 0, err
	}
	reasons := map[string]error{"malformed": events.ErrMalformed, "mismatch": events.ErrMismatch, "too_old": events.ErrTooOld}
	for _, v := range append(vectors.Accepted, vectors.Refused...) {
		_, err := providercheckout.VerifyEvent(v.Secret, v.Header, []byte(v.Body), time.Unix(max(v.Timestamp, v.Now), 0))
		for _, reason := range reasons { // a body that is accepted need not be an event
			if errors.Is(err, reason) != (reasons[v.Reason] == reason) {
				wrong++
			}
		}
	}
	return wrong, nil
}
