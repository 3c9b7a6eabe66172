package contract_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/nodetest"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
)

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
		"PHP":    {recipeFile("verify_event.php")},
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
			check(tag.Name, tag.Code, "Node", "Python", "PHP")
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
