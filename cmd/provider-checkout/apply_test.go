package main

import (
	"crypto/rand"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
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
	linked := strings.NewReplacer(`"name"`, `"account_id": "acc", "name"`, "http://", "https://").Replace(provider)
	if _, said := o.does(t, "apply", "-f", proc.TempFile(t, linked)); said != "" {
		t.Errorf("of a provider that can be served it says %q", said)
	}
	desk := operate.Operator{Store: o.open(t), By: "Ana", Now: time.Now, Rand: rand.Reader}
	if err := desk.SetDisabled(t.Context(), "KOWHAI", true); err != nil {
		t.Fatal(err)
	}
	_, said = o.does(t, "apply", "-f", proc.TempFile(t, linked))
	if want := "provider KOWHAI was disabled by an operator: its calls are refused\n"; !strings.HasSuffix(said, want) {
		t.Errorf("of a provider that was disabled it says %q, want %q", said, want)
	}
}

func TestApplyReadsStandardInput(t *testing.T) {
	o := newOperator(t)
	got := try(t, nil, `{"providers": []}`, "apply", "-f", "-", "--store", "sqlite:"+o.path)
	if got.code != exitDone || got.stdout != "" {
		t.Errorf("apply = %+v", got)
	}
}

func TestAFileThatIsReadHasALimit(t *testing.T) {
	full := strings.Repeat(" ", maxFile)
	for text, ok := range map[string]bool{full: true, full + " ": false} {
		_, fromFile := readFile(nil, proc.TempFile(t, text))
		_, fromInput := readFile(strings.NewReader(text), standard)
		for _, err := range []error{fromFile, fromInput} {
			if (err == nil) != ok || !ok && !strings.Contains(err.Error(), "larger than 32 MB") {
				t.Errorf("of %d bytes: %v", len(text), err)
			}
		}
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

// provider is a provider file with one provider, whose name and signing secret are given.
func provider(name, secret string) string {
	return `{"providers": [{"provider_code": "KOWHAI", "name": "` + name + `", "account_id": "a", "environment": "sandbox", "active": true,
		"api_enabled": true, "webhook": {"url": "https://hooks.kowhai.example/", "signing_secret": "` + secret + `"}}]}`
}

const goodSecret = "whsec_0123456789abcdefgh"

// revisionOf returns the revision that a command printed.
func revisionOf(t *testing.T, printed string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^revision ([0-9a-f]{16})`).FindStringSubmatch(printed)
	if found == nil {
		t.Fatalf("no revision in %q", printed)
	}
	return found[1]
}

func TestOfTwoWhoApplyAtOnceOneIsTold(t *testing.T) {
	o := newOperator(t)
	first := proc.TempFile(t, provider("Kōwhai", goodSecret))
	out, said := o.does(t, "apply", "--dry-run", "-f", first)
	if empty := revisionOf(t, said); !strings.Contains(out, "KOWHAI") || strings.Contains(out, "revision") || !strings.Contains(said, "there is no store") {
		t.Errorf("a dry run without a store prints %q and %q (%s)", out, said, empty)
	}
	o.fails(t, "there is no store", "export")
	begun := revisionOf(t, o.prints(t, "apply", "--expect", revisionOf(t, said), "-f", first))
	if _, said := o.does(t, "apply", "-f", first); revisionOf(t, said) != begun {
		t.Errorf("an unchanged file says %q, want the revision %s", said, begun)
	}
	other, mine := proc.TempFile(t, provider("Kōwhai Institute", goodSecret)), proc.TempFile(t, provider("Kōwhai", "whsec_of_mine_0123456789ab"))
	out, said = o.does(t, "apply", "--dry-run", "-f", other)
	if !strings.Contains(out, "Kōwhai Institute") || !strings.Contains(said, "this would change") || revisionOf(t, said) != begun {
		t.Errorf("a dry run prints %q and %q", out, said)
	}
	now := revisionOf(t, o.prints(t, "apply", "--expect", begun, "-f", other))
	o.fails(t, "on record is revision "+now+": somebody has changed the providers since", "apply", "--expect", begun, "-f", mine)
	o.fails(t, "on record is revision "+now, "apply", "--dry-run", "--expect", begun, "-f", mine)
	if again := revisionOf(t, o.prints(t, "apply", "--expect", now, "-f", mine)); again == now || again == begun {
		t.Errorf("another secret has the revision %s again", again)
	}
}

func TestAProviderFileRefersToItsSecrets(t *testing.T) {
	o := newOperator(t)
	plain, secret := proc.TempFile(t, provider("Kōwhai", goodSecret)), proc.TempFile(t, goodSecret+"\n")
	o.does(t, "apply", "-f", plain)
	for _, reference := range []string{"env:KOWHAI_SECRET", "file:" + secret} {
		got := try(t, []string{"KOWHAI_SECRET=" + goodSecret}, "", "apply", "-f", proc.TempFile(t, provider("Kōwhai", reference)), "--store", "sqlite:"+o.path)
		if got.code != exitDone || got.stdout != "" || !strings.HasPrefix(got.stderr, "nothing changed\n") {
			t.Errorf("with %s apply = %+v, want the secret that is on record", reference, got)
		}
	}
	for reference, want := range map[string]string{
		"env:KOWHAI_SECRET":    "providers[0].webhook.signing_secret cannot be read: the variable KOWHAI_SECRET is not set",
		"file:/none/such":      "providers[0].webhook.signing_secret cannot be read: open /none/such",
		"env:":                 "providers[0].webhook.signing_secret must be env: and the name of a variable",
		"file:" + emptyFile(t): "providers[0].webhook.signing_secret must be given along with the URL",
	} {
		o.fails(t, want, "apply", "-f", proc.TempFile(t, provider("Kōwhai", reference)))
	}
}

func emptyFile(t *testing.T) string { return proc.TempFile(t, "\n") }
