package service_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// mailAPI sends notices through a mail service with an API of its own, which does not send twice what has one key.
type mailAPI struct{ sent func() }

func (a mailAPI) Notify(_ context.Context, n checkout.PayerNotice) (checkout.Receipt, error) {
	fmt.Println("to", n.To.Name+":", n.Subject)
	defer a.sent()
	key := strings.TrimPrefix(n.ID, "ntc_") // the same for every attempt
	return checkout.Receipt{Reference: key, Answer: "202 accepted"}, nil
}

// A notifier of your own, for a mail service with an API or another channel than e-mail: implement ports.PayerNotifier, and
// set Config.Notifier. Service.Run sends the notices, and the store keeps the receipt. For SMTP there is adapters/out/smtp.
func Example_notifier() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	bank := newRemoteBank()
	defer bank.server.Close()
	store := memory.New()
	config := exampleConfig(store, bank)
	config.Notifier = mailAPI{sent: stop}
	checkouts, err := service.New(config)
	check(err)
	check(store.ReplaceProviders(ctx, rimu))
	opened, err := checkouts.Create(ctx, service.Caller{ProviderCode: "RIMU"}, legacyOrder("ENROLMENT-1"))
	check(err)
	_, err = checkouts.BeginSetup(ctx, opened.Token, checkout.Acceptance{})
	check(err)
	bank.complete(opened.Checkout.SetupKey(catalogue.Sandbox, 1))
	_, err = checkouts.Checkout(ctx, service.Caller{ProviderCode: "RIMU"}, opened.Checkout.ID) // a poll asks the bank
	check(err)

	checkouts.Run(ctx) // until it has been sent
	notices, err := store.Jobs(context.Background(),
		checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobNotify}, CheckoutID: opened.Checkout.ID}, 10)
	check(err)
	for _, n := range notices {
		fmt.Println(n.Job.Name, n.State, n.Attempts, n.Receipt.Answer)
	}
	// Output:
	// to Aroha Ngata: [Sandbox] Rimu College: your direct debit is set up
	// setup done 1 202 accepted
}

// complete has the payer of a billing request complete the setup.
func (b *remoteBank) complete(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done["BRQ-"+key] = time.Now().UTC().Truncate(time.Millisecond)
}
