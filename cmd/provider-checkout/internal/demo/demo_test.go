package demo

import (
	"os"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

func TestDemonstrationRecordsItsConfigurationAsItsOwn(t *testing.T) {
	file, err := os.ReadFile("../../demo.json")
	if err != nil {
		t.Fatal(err)
	}
	store := memory.New()
	d := demonstration{cfg: Config{Site: site.Config{Store: store, Secrets: [][]byte{[]byte(strings.Repeat("s", 32))}}, Providers: file}}
	if d.web, err = listenWebsite(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer d.web.listener.Close()
	if err := d.configure(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries, err := store.UnsealedEvidence(t.Context(), 10)
	if err != nil || len(entries) != 3 {
		t.Fatalf("on record are %d entries, %v; want that of the configuration and those of two keys", len(entries), err)
	}
	names := map[string]int{}
	for _, e := range entries {
		did, err := evidence.Read(e.Leaf)
		if err != nil || did.Operation.Operator != "demo" {
			t.Errorf("on record is %+v, %v", did, err)
		}
		names[did.Operation.Name+" "+did.Operation.Subject]++
	}
	if names["demo KOWHAI TUI"] != 1 {
		t.Errorf("on record are %v", names)
	}
}
