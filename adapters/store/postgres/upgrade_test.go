package postgres_test

import (
	"compress/gzip"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/storetest"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/checkout"
)

const upgradeFolder = "../../../testdata/upgrade/"

// unzip returns what a file of testdata/upgrade holds.
func unzip(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(upgradeFolder + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// restore restores the database that 7ef5044 wrote, on a server of its own, and returns how it is opened.
func restore(t *testing.T) (url string, o postgres.Options) {
	t.Helper()
	server := postgrestest.New(t).URL(t)
	execute(t, connect(t, server), unzip(t, "7ef5044.postgres.sql.gz"))
	schema := server[strings.Index(server, "search_path=")+len("search_path="):]
	return strings.ReplaceAll(server, "search_path="+schema, "search_path=public"), under([]byte("fixture-secret-of-32-bytes-or-more"))
}

func TestUpgradeFrom7ef5044(t *testing.T) {
	url, o := restore(t)
	if err := open(t, url, o).Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	storetest.Upgraded(t, open(t, url, o), strings.NewReader(unzip(t, "7ef5044.postgres.jsonl.gz")))
}

// While the processes of a store are replaced, the program of the version before goes on: it stores NULL for a default key.
func TestRowsOfTheVersionBefore(t *testing.T) {
	url, o := restore(t)
	db, shell := open(t, url, o), connect(t, url)
	execute(t, shell, `INSERT INTO checkouts (id, provider_code, provider_order_id, request_id, status, first_name, last_name,
		email, course_code, course_name, price_cents, upfront_cents, principal_cents, payment_frequency, number_of_instalments,
		instalment_cents, final_instalment_cents, first_payment_date, contact_id, opportunity_id, dda_id, setup_tokens, setup_try,
		billing_request_id, billing_request_status, mandate_status, authorisation_status, account_holder, account_tail,
		confirmed_by_request_id, agreed_first_date, agreement_id, agreement_number, document_id, consent)
		VALUES ('KOWHAI-after', 'KOWHAI', 'after', '', '', '', '', '', '', '', 0, 0, 0, '', 0, 0, 0, '', '', '', '', '', 0, '', '', '',
		'', '', '', '', '', '', '', '', '')`)
	key := checkout.DefaultKey("KOWHAI", "after")
	c, err := db.CheckoutByKey(t.Context(), "KOWHAI", key)
	if err != nil || c.OrderID != "after" || c.IdempotencyKey != key || !c.Setup.LookAgain.IsZero() ||
		!c.Setup.MandateSince.IsZero() || c.Setup.MandateReason != "" {
		t.Errorf("CheckoutByKey = %+v, %v; want the checkout under its default key", c, err)
	}
	err = db.UpdateCheckout(t.Context(), c.ID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
		return checkout.Change{Next: c}, nil
	})
	if err != nil {
		t.Fatalf("UpdateCheckout: %v", err)
	}
	var null bool
	if err := shell.QueryRow(t.Context(), `SELECT idempotency_key IS NULL FROM checkouts WHERE id = 'KOWHAI-after'`).Scan(&null); err != nil || !null {
		t.Errorf("the key is NULL: %v, %v; want the row as that version wrote it", null, err)
	}
}
