package main

import (
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
)

func TestApplyPrintsWhatChanges(t *testing.T) {
	o := newOperator(t)
	all, legacy := "demo.json", proc.TempFile(t, `{"providers": [{"provider_code": "KOWHAI", "name": "Kōwhai", "account_id": "a",
		"environment": "sandbox", "active": true, "api_enabled": true}]}`)

	added := o.prints(t, "apply", "-f", all)
	says(t, added, "KOWHAI", "TUI", "NZDIP-BUS")
	if again, said := o.does(t, "apply", "-f", all); again != "" || !strings.HasPrefix(said, "nothing changed\n") {
		t.Errorf("an unchanged file prints %q and %q", again, said)
	}
	if changed := o.prints(t, "apply", "-f", legacy); !strings.Contains(changed, "KOWHAI") || strings.Contains(changed, "TUI") {
		t.Errorf("a file that names KOWHAI alone prints\n%s", changed)
	}
	if pruned := o.prints(t, "apply", "--prune", "-f", legacy); !strings.Contains(pruned, "TUI") || strings.Contains(pruned, "KOWHAI") {
		t.Errorf("--prune prints\n%s", pruned)
	}
	if left := o.prints(t, "export"); strings.Count(left, `"kind":"provider"`) != 1 || strings.Contains(left, `"kind":"course"`) {
		t.Errorf("on record are\n%s", left)
	}
}

func TestApplyRefusesNamesThatAnAgreementCannotPrint(t *testing.T) {
	o := newOperator(t)
	file := proc.TempFile(t, `{"providers": [{"provider_code": "KOWHAI", "name": "Kōwhai 🌼", "environment": "sandbox", "active": true,
		"api_enabled": true, "courses": [{"course_code": "NZDIP", "course_name": "Diploma 🎓", "course_price": 100.00, "upfront_payment": 0,
		"active": true, "plans": [{"payment_frequency": "Weekly", "number_of_instalments": 10}]}]}]}`)
	for _, want := range []string{"provider KOWHAI: its name must not contain U+1F33C", "course NZDIP of provider KOWHAI: its name must not contain U+1F393"} {
		o.fails(t, want, "apply", "-f", file)
	}
	o.fails(t, "there is no store", "export")
}

func TestApplyWarnsOfWhatCannotBeServed(t *testing.T) {
	o := newOperator(t)
	const provider = `{"providers": [{"provider_code": "KOWHAI", "name": "Kōwhai", "environment": "sandbox", "active": true, "api_enabled": true,
		"webhook": {"url": "http://localhost:8081/", "signing_secret": "whsec_0123456789abcdefgh"}}]}`
	_, said := o.does(t, "apply", "-f", proc.TempFile(t, provider))
	want := "provider KOWHAI is not linked to an account: its calls are refused\n" +
		"provider KOWHAI has its events sent over plain http: only a server with --allow-private-destinations does\n"
	if said != want {
		t.Errorf("it says %q, want %q", said, want)
	}
	for _, setting := range []string{"PROVIDER_CHECKOUT_ALLOW_PRIVATE_DESTINATIONS=true",
		"PROVIDER_CHECKOUT_CONFIG=" + proc.TempFile(t, `{"allow_private_destinations": true}`)} {
		got := try(t, []string{setting}, "", "apply", "-f", proc.TempFile(t, provider), "--store", "sqlite:"+o.path)
		if got.code != cli.ExitDone || strings.Contains(got.stderr, "plain http") {
			t.Errorf("with %s, apply = %+v, want no word of plain http", setting, got)
		}
	}
	linked := strings.NewReplacer(`"name"`, `"account_id": "acc", "name"`, "http://", "https://").Replace(provider)
	if _, said := o.does(t, "apply", "-f", proc.TempFile(t, linked)); said != "" {
		t.Errorf("of a provider that can be served it says %q", said)
	}
	rotated := func(until string) string {
		return strings.Replace(linked, `fgh"`, `fgh", "previous_signing_secret": "whsec_hgfedcba9876543210", "previous_secret_until": "`+until+`"`, 1)
	}
	if _, said := o.does(t, "apply", "-f", proc.TempFile(t, rotated("2126-01-01T00:00:00Z"))); said != "" {
		t.Errorf("of a secret that is being replaced it says %q", said)
	}
	if _, said := o.does(t, "apply", "-f", proc.TempFile(t, rotated("2026-01-01T00:00:00Z"))); !strings.Contains(said, "signs nothing") {
		t.Errorf("of a secret that was replaced for good it says %q", said)
	}
}

func TestApplyWarnsOfAccountsThatCannotCollect(t *testing.T) {
	const token = "sandbox_hunter2"
	sim := gocardlesstest.New(gocardlesstest.Options{Token: token, Creditors: []gocardlesstest.Creditor{{ID: "CR1", MinimumAdvanceNotice: 5}}})
	server := httptest.NewServer(sim)
	t.Cleanup(func() { sim.Close(); server.Close() })
	const provider = `{"provider_code": "CODE", "name": "A provider", "account_id": "ACCOUNT", "environment": "ENVIRONMENT",
		"active": true, "api_enabled": true, "notice_days": DAYS}`
	with := func(code, account, environment, days string) string {
		return strings.NewReplacer("CODE", code, "ACCOUNT", account, "ENVIRONMENT", environment, "DAYS", days).Replace(provider)
	}
	file := proc.TempFile(t, `{"providers": [`+with("SHORT", "CR1", "sandbox", "4")+","+with("ENOUGH", "CR1", "sandbox", "5")+
		","+with("ANY", "the main one", "sandbox", "5")+","+with("LIVE", "CR1", "production", "4")+","+with("UNKNOWN", "CR2", "sandbox", "5")+`]}`)
	account := []string{"PROVIDER_CHECKOUT_PROCESSOR=gocardless", "PROVIDER_CHECKOUT_GOCARDLESS_URL=" + server.URL}
	for _, tt := range []struct{ name, token, want string }{
		{"a short notice", token, "provider SHORT: its notice_days are 4, and its account needs 5 at least: the server is not ready while it may be used\n" +
			"provider UNKNOWN: the GoCardless account has no creditor CR2: the server is not ready while it may be used\n"},
		{"a token that is refused", "other", "the providers' accounts are not checked: GET /creditors: GoCardless refuses the access token"},
		{"no token", "", "the providers' accounts are not checked: GoCardless' access token is missing"},
	} {
		store := "sqlite:" + filepath.Join(t.TempDir(), "records.db")
		got := try(t, append(account, tokenVariable+"="+tt.token), "", "apply", "-f", file, "--store", store)
		if got.code != cli.ExitDone || !strings.HasPrefix(got.stderr, tt.want) || strings.Count(got.stderr, "\n") != max(1, strings.Count(tt.want, "\n")) || strings.Contains(got.stderr, "hunter2") {
			t.Errorf("%s: %+v, want %q", tt.name, got, tt.want)
		}
	}
}

func TestApplyReadsStandardInput(t *testing.T) {
	o := newOperator(t)
	got := try(t, nil, `{"providers": []}`, "apply", "-f", "-", "--store", "sqlite:"+o.path)
	if got.code != cli.ExitDone || got.stdout != "" {
		t.Errorf("apply = %+v", got)
	}
}

func TestProviderFileHasALimit(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	const file = `{"providers": []}`
	full := file + strings.Repeat(" ", 32<<20-len(file))
	o.does(t, "apply", "-f", proc.TempFile(t, full))
	o.fails(t, "larger than 32 MB", "apply", "-f", proc.TempFile(t, full+" "))
	if got := try(t, nil, full+" ", "apply", "-f", "-", "--store", "sqlite:"+o.path); got.code != cli.ExitFailed {
		t.Errorf("of standard input, apply = %+v", got)
	}
}

func TestFaultyFileIsRefusedWholeInOneLine(t *testing.T) {
	o := newOperator(t)
	o.does(t, "apply", "-f", "demo.json")
	before := o.prints(t, "export")
	faulty := proc.TempFile(t, `{"providers": [{"provider_code": "NEW", "name": "New", "account_id": "a", "environment": "sandbox",
		"active": true, "api_enabled": true}, {"provider_code": "lower", "name": "", "environment": "moon"}]}`)
	for _, place := range []string{"providers[1].provider_code", "providers[1].name", "providers[1].environment"} {
		o.fails(t, place, "apply", "--prune", "-f", faulty)
	}
	if after := o.prints(t, "export"); after != before {
		t.Errorf("a refused file changed the record to\n%s", after)
	}
}
