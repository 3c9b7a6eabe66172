package contract_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/nodetest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
)

// The quickstart, and the code that plays the payer, are pasted into a shell as the service shows them, and what the steps
// print is what is shown under them.
func TestQuickstartPrintsWhatItShows(t *testing.T) {
	withTheFake(t) // which the first answer names
	s := newSuite(t, memory.New())
	s.Configure(t, strings.ReplaceAll(string(read(t, "../demo.json")), "http://localhost:8081", "HOOKS"))
	reference := s.Visit(t, s.URL+"/docs.md").Body
	_, text, _ := strings.Cut(reference, "## Quickstart")
	text, _, _ = strings.Cut(text, "## Overview")
	shown := regexp.MustCompile("(?s)```([a-z]+)\n(.*?)\n```").FindAllStringSubmatch(text, -1)
	payer := regexp.MustCompile("(?s)## Sandbox\n.*?```sh\n(.*?)\n```").FindStringSubmatch(reference)
	if len(shown) != 10 || len(payer) != 2 {
		t.Fatalf("%d blocks are shown and %d for the payer, want five steps and their answers, and one", len(shown), len(payer)-1)
	}
	shell := newShell(t)
	for i := 0; i < len(shown); i += 2 {
		code := strings.Replace(shown[i][2], "pck_sandbox_the_key_that_you_were_given", s.Keys["KOWHAI"], 1)
		printed := shell(code)
		if got, want := withoutIDs(printed), withoutIDs(shown[i+1][2]); got != want {
			t.Errorf("step %d prints\n%s\nas if it were\n%s\nand the quickstart shows\n%s", i/2+1, printed, got, want)
		}
		if shown[i+1][1] == "text" { // the address for the payer
			if got := shell(payer[1]); got != "303\n" {
				t.Fatalf("playing the payer prints %q", got)
			}
		}
	}
	if got := len(s.Records(t)); got != 1 {
		t.Errorf("%d checkouts are on record, want 1", got)
	}
}

// newShell starts a shell and returns a function that has it run code and returns what that printed.
func newShell(t *testing.T) func(code string) string {
	t.Helper()
	testlevel.Full(t)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(stop)
	cmd := exec.CommandContext(ctx, "sh")
	cmd.Env = append(os.Environ(), "NO_PROXY=127.0.0.1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	printed := bufio.NewReader(out)
	return func(code string) string {
		t.Helper()
		if _, err := io.WriteString(in, code+"\nprintf '\\036'\n"); err != nil {
			t.Fatal(err)
		}
		text, err := printed.ReadString('\036')
		if err != nil {
			t.Fatalf("%v after %q of\n%s", err, text, code)
		}
		return strings.TrimSuffix(text, "\036")
	}
}

var (
	setupToken = regexp.MustCompile(`\?token=[A-Za-z0-9._-]+`)
	anyID      = regexp.MustCompile(`^(.*_id|id|token|number)$`)
)

// withoutIDs returns an answer without what is another at each run, in one form.
func withoutIDs(text string) string {
	text = setupToken.ReplaceAllString(text, "?token=")
	tree, err := apiclient.ParseObject([]byte(text))
	if err != nil {
		return strings.TrimSpace(text)
	}
	for _, section := range tree {
		fields, _ := section.(map[string]any)
		for name, value := range fields {
			if id, ok := value.(string); ok && (anyID.MatchString(name) || name == "expires_at") && name != "provider_order_id" && id != "" {
				fields[name] = "…"
			}
		}
	}
	plain, err := json.MarshalIndent(tree, "", " ")
	if err != nil {
		panic(err) // what was parsed marshals
	}
	return string(plain)
}

// The code beside each operation is a part of a program that other tests run.
func TestCodeBesideEveryOperationIsThatOfARecipe(t *testing.T) {
	type samples []struct{ Label, Source string }
	var document struct {
		Tags []struct {
			Name string
			Code samples `json:"x-codeSamples"`
		}
		Paths map[string]map[string]struct {
			Code samples `json:"x-codeSamples"`
		}
	}
	parse(t, "../../../adapters/in/httpapi/openapi.json", &document)
	programs := map[string]string{}
	for language, files := range map[string][]string{
		"curl":   {"../../../adapters/in/httpapi/quickstart.md", recipeFile("ready.sh"), recipeFile("cancel.sh"), recipeFile("catchup.sh"), recipeFile("resend.sh"), recipeFile("changed.sh")},
		"Go":     {recipeFile("checkout/main.go"), recipeFile("ready/main.go"), recipeFile("cancel/main.go"), recipeFile("catchup/main.go"), recipeFile("resend/main.go"), recipeFile("changed/main.go")},
		"Node":   {recipeFile("checkout.mjs"), recipeFile("ready.mjs"), recipeFile("cancel.mjs"), recipeFile("catchup.mjs"), recipeFile("resend.mjs"), recipeFile("changed.mjs"), recipeFile("verify_event.mjs")},
		"Python": {recipeFile("checkout.py"), recipeFile("ready.py"), recipeFile("cancel.py"), recipeFile("catchup.py"), recipeFile("resend.py"), recipeFile("changed.py"), recipeFile("verify_event.py")},
	} {
		for _, file := range files {
			text := string(read(t, file))
			programs[language] += text + "\n" + strings.ReplaceAll(text, "\n\t", "\n") // also what is inside a function
		}
	}
	check := func(what string, code samples, languages ...string) {
		var got []string
		for _, c := range code {
			got = append(got, c.Label)
			if !strings.Contains(programs[c.Label], c.Source+"\n") && !strings.Contains(programs[c.Label], c.Source+")\n") {
				t.Errorf("%s: no recipe has the %s code\n%s", what, c.Label, c.Source)
			}
		}
		if !slices.Equal(got, languages) {
			t.Errorf("%s has code in %q, want %q", what, got, languages)
		}
	}
	for path, methods := range document.Paths {
		for method, operation := range methods {
			check(method+" "+path, operation.Code, "curl", "Go", "Node", "Python")
		}
	}
	for _, tag := range document.Tags {
		switch tag.Name {
		case "Calling the API":
			check(tag.Name, tag.Code, "Go", "Node", "Python")
		case "Checking a signature":
			check(tag.Name, tag.Code, "Node", "Python")
		default:
			check(tag.Name, tag.Code)
		}
	}
}

func TestRecipesAskWhetherTheServiceIsReady(t *testing.T) {
	s := newSuite(t, memory.New())
	for _, r := range []struct{ interpreter, name, want string }{
		{"go", "ready", "sandbox v1\nready: true\n"}, {"node", "ready.mjs", "sandbox v1\nready: true\n"},
		{"python3", "ready.py", "sandbox v1\nready: true\n"}, {"sh", "ready.sh", `"ready_for_api_calls":true`},
	} {
		t.Run(r.name, func(t *testing.T) {
			cmd := recipe(t, r.interpreter, r.name)
			cmd.Env = append(cmd.Environ(), "BASE="+s.URL)
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), r.want) {
				t.Errorf("%v, %s; want %s", err, out, r.want)
			}
		})
	}
}

func TestRecipesCancelACheckoutAndSayThatAConfirmedOneIsNotCancelled(t *testing.T) {
	s := newSuite(t, memory.New())
	confirmed := s.Ready(t, "ORDER-1")
	s.Confirm(t, confirmed)
	for _, r := range [][2]string{{"go", "cancel"}, {"node", "cancel.mjs"}, {"python3", "cancel.py"}, {"sh", "cancel.sh"}} {
		t.Run(r[1], func(t *testing.T) {
			open := s.Create(t, "ENROL-"+r[1])
			for created, want := range map[*response]string{&open: "cancelled", &confirmed: "CONFLICT"} {
				if r[0] == "sh" {
					want = strings.TrimPrefix(want, "CONFLICT") // curl --fail prints no body
				}
				cmd := recipe(t, r[0], r[1])
				cmd.Env = append(cmd.Environ(), "BASE="+s.URL, "KEY="+s.Keys["KOWHAI"], "CHECKOUT="+created.String("checkout.checkout_id"))
				if out, _ := cmd.CombinedOutput(); !strings.Contains(string(out), want) {
					t.Errorf("%s; want %s", out, want)
				}
			}
		})
	}
}

func TestRecipesCatchUpByTheListOfEvents(t *testing.T) {
	s := newSuite(t, memory.New())
	for i := range 101 { // more than a page
		s.Create(t, fmt.Sprint("ORDER-", i))
	}
	all, next := s.walk(t, "KOWHAI", eventsPath, "", 100)
	for _, r := range [][2]string{{"go", "catchup"}, {"node", "catchup.mjs"}, {"python3", "catchup.py"}, {"sh", "catchup.sh"}} {
		t.Run(r[1], func(t *testing.T) {
			cmd := recipe(t, r[0], r[1])
			cmd.Env = append(cmd.Environ(), "BASE="+s.URL, "KEY="+s.Keys["KOWHAI"], "CURSOR="+all[0]["cursor"].(string))
			out, _ := cmd.CombinedOutput()
			if r[0] == "sh" { // one page
				if strings.Count(string(out), `"event_id":`) != 100 {
					t.Errorf("%s", out)
				}
				return
			}
			var want strings.Builder
			for _, e := range all[1:] {
				fmt.Fprintln(&want, e["event_id"], e["status"])
			}
			if fmt.Fprintln(&want, "next", next); string(out) != want.String() {
				t.Errorf("the recipe prints\n%s\nwant\n%s", out, want.String())
			}
		})
	}
}

func TestRecipesHaveAnEventSentAgain(t *testing.T) {
	s := newSuite(t, memory.New())
	s.Create(t, "ORDER-1")
	id := s.record(t, "ORDER-1").Events()[0].Event.ID
	for _, r := range [][3]string{{"go", "resend", "sent again: " + id + "\n"}, {"node", "resend.mjs", "sent again: " + id + "\n"},
		{"python3", "resend.py", "sent again: " + id + "\n"},
		{"sh", "resend.sh", `{"success":true,"event_id":"` + id + `"}` + "\n"}} {
		t.Run(r[1], func(t *testing.T) {
			s.Clock.Forward(time.Second)
			cmd := recipe(t, r[0], r[1])
			cmd.Env = append(cmd.Environ(), "BASE="+s.URL, "KEY="+s.Keys["KOWHAI"], "EVENT="+id)
			if out, err := cmd.CombinedOutput(); err != nil || string(out) != r[2] {
				t.Errorf("%v, %s; want %s", err, out, r[2])
			}
		})
	}
}

func TestRecipesListTheEnrolmentsThatChanged(t *testing.T) {
	s := newSuite(t, memory.New())
	s.Create(t, "ORDER-1")
	for _, r := range [][3]string{{"go", "changed", "ORDER-1 direct_debit_setup_required\nnext "}, {"node", "changed.mjs", "ORDER-1 direct_debit_setup_required\nnext "},
		{"python3", "changed.py", "ORDER-1 direct_debit_setup_required\nnext "}, {"sh", "changed.sh", `"provider_order_id":"ORDER-1"`}} {
		t.Run(r[1], func(t *testing.T) {
			cmd := recipe(t, r[0], r[1])
			cmd.Env = append(cmd.Environ(), "BASE="+s.URL, "KEY="+s.Keys["KOWHAI"], "CURSOR=")
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), r[2]) {
				t.Errorf("%v, %s; want %s", err, out, r[2])
			}
		})
	}
}

func recipeFile(name string) string { return "../../../testdata/recipes/" + name }

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func parse(t *testing.T, path string, into any) {
	t.Helper()
	if err := json.Unmarshal(read(t, path), into); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", path, err))
	}
}

// Linters and parsers for Node find nothing in the descriptions that the service serves, and a client that is generated
// from them walks the whole flow.
func TestNodeToolsTakeTheDescriptionsAndAGeneratedClientEnrols(t *testing.T) {
	withTheFake(t) // whose forms the client fills in
	if outside.Salesforce {
		t.Skip("the descriptions are the same over any CRM")
	}
	t.Parallel()
	s := newSuite(t, memory.New())
	nodetest.Check(t, "BASE="+s.URL, "KEY="+s.Keys["KOWHAI"], "PROVIDER=KOWHAI", "COURSE=NZDIP")
}
