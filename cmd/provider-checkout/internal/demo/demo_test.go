package demo

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

func TestDemonstrationRecordsItsConfigurationAsItsOwn(t *testing.T) {
	file, err := os.ReadFile("../../demo.json")
	if err != nil {
		t.Fatal(err)
	}
	store := memory.New(time.Now)
	d := demonstration{cfg: Config{Site: site.Config{Store: store, Secrets: [][]byte{[]byte(strings.Repeat("s", 32))}}, Providers: file}}
	if d.web, err = listenWebsite(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer d.web.listener.Close()
	if err := d.configure(t.Context()); err != nil {
		t.Fatal(err)
	}
	did, err := store.Acts(t.Context(), checkout.ActFilter{}, 10)
	if err != nil || len(did) != 4 {
		t.Fatalf("on record are %d acts, %v; want those of two providers and of two keys", len(did), err)
	}
	names := map[string]int{}
	for _, act := range did {
		if act.Operator != "demo" {
			t.Errorf("on record is %+v, want an act of demo", act)
		}
		names[act.Name+" "+act.Subject]++
	}
	if names["demo KOWHAI"] != 1 || names["demo TUI"] != 1 {
		t.Errorf("on record are %v", names)
	}
}
