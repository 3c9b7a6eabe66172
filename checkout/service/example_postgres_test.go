package service_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-checkout/provider-checkout/adapters/in/hostedpages"
	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/out/pdf"
	"github.com/provider-checkout/provider-checkout/adapters/out/webhook"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// PostgreSQL through a pool that your program has: the service's tables are in a schema of their own beside yours, and
// a checkout is opened from your own code. Example has the background work, and the serving of it all.
func Example_postgres() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	check(err)
	defer pool.Close()
	secrets := [][]byte{[]byte(os.Getenv("ENROLMENT_SECRET"))} // 32 bytes or more; while it is rotated, the new one first
	store, err := postgres.New(ctx, pool, postgres.Options{
		Schema:      "enrol_pay",
		Environment: catalogue.Sandbox,
		Secrets:     secrets,
	})
	check(err)
	defer store.Close() // which leaves your pool open
	keyring, err := checkout.NewKeyring(secrets...)
	check(err)
	printer, err := pdf.New(2)
	check(err)

	server := httptest.NewUnstartedServer(nil)
	baseURL := "http://" + server.Listener.Addr().String()
	bank := fakeprocessor.New(fakeprocessor.Options{Records: store, BaseURL: baseURL}) // or a processor of your own
	checkouts, err := service.New(service.Config{
		Environment: catalogue.Sandbox,
		BaseURL:     baseURL,
		Keyring:     keyring,
		Store:       store,
		Processor:   bank,
		CRM:         service.EmbeddedCRM(catalogue.Sandbox),
		Printer:     printer,
		Sender:      webhook.New(webhook.Options{}),
		Now:         time.Now,
		Rand:        rand.Reader,
		Report:      func(_ context.Context, f service.Failure) { fmt.Println(f.Operation, f.Err) },
		Noted: func(_ context.Context, n checkout.Noted) {
			fmt.Println(n.OrderID, n.Moment.Kind) // after the commit, in the call that made it
		},
	})
	check(err)
	server.Config.Handler = httpapi.New(checkouts, httpapi.Options{Mount: map[string]http.Handler{
		hostedpages.Prefix:   hostedpages.New(checkouts, hostedpages.Options{}),
		fakeprocessor.Prefix: bank,
	}})
	server.Start()
	defer server.Close()

	check(store.ReplaceProviders(ctx, func([]catalogue.Configuration) ([]catalogue.Configuration, *checkout.Act, error) {
		return []catalogue.Configuration{{Provider: catalogue.Provider{Code: "RIMU", Name: "Rimu College", AccountID: "acc-rimu",
			Environment: catalogue.Sandbox, Active: true, APIEnabled: true, Mode: catalogue.Legacy}}}, nil, nil
	}))
	opened, err := checkouts.Create(ctx, service.Caller{ProviderCode: "RIMU"}, legacyOrder("ENROLMENT-1"))
	check(err)
	fmt.Println(opened.Checkout.Status)
}

func TestExamplePostgres(t *testing.T) {
	url := postgrestest.New(t).URL(t)
	t.Setenv("DATABASE_URL", url)
	t.Setenv("ENROLMENT_SECRET", "a secret of thirty-two bytes or more")
	Example_postgres()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var order string
	if err := pool.QueryRow(t.Context(), `SELECT provider_order_id FROM enrol_pay.checkouts`).Scan(&order); err != nil || order != "ENROLMENT-1" {
		t.Errorf("order %q, %v; want that of the example in the host's schema", order, err)
	}
}
