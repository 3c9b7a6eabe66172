package postgres_test

import (
	"context"
	"log"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

// A host opens the store over the pool that it has. The store's tables are in a schema of their own, and the host's
// sessions keep their settings.
func ExampleNew() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL")) // the host's, with at least 20 connections for a busy service
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	store, err := postgres.New(ctx, pool, postgres.Options{
		Schema:      "enrolments", // provider_checkout if left out
		Environment: catalogue.Production,
		Secrets:     [][]byte{[]byte(os.Getenv("PROVIDER_CHECKOUT_SECRET"))},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close() // which leaves the pool open
	// service.New(service.Config{Store: store, …})
}
