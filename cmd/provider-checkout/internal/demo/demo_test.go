package demo

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/audit"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
	"github.com/provider-checkout/provider-checkout/ports"
)

func TestDemonstrationRecordsItsConfigurationAsItsOwn(t *testing.T) {
	file, err := os.ReadFile("../../demo.json")
	if err != nil {
		t.Fatal(err)
	}
	store := memory.New()
	var issuers []string
	d := demonstration{cfg: Config{Site: site.Config{Store: store, Secrets: [][]byte{[]byte(strings.Repeat("s", 32))}}, Providers: file,
		IssueKey: func(_ context.Context, _ ports.Admin, trail audit.Trail, _ string) (string, error) {
			issuers = append(issuers, trail.Operator)
			return "key", nil
		}}}
	web, err := listenWebsite(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer web.listener.Close()
	if err := d.configure(t.Context(), web); err != nil {
		t.Fatal(err)
	}
	entries, err := store.UnsealedEvidence(t.Context(), 10)
	if err != nil || len(entries) != 1 {
		t.Fatalf("on record are %d entries, %v", len(entries), err)
	}
	did, err := evidence.Read(entries[0].Leaf)
	if err != nil || did.Operation.Operator != "demo" || did.Operation.Subject != "KOWHAI TUI" {
		t.Errorf("on record is %+v, %v", did, err)
	}
	if strings.Join(issuers, " ") != "demo demo" {
		t.Errorf("the keys were issued by %q", issuers)
	}
}
