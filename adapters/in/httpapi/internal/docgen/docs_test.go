package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
)

var update = flag.Bool("update", false, "record the API as it is")

func TestTheDocumentationIsThatOfTheDescription(t *testing.T) {
	const folder = "../.."
	files, err := render(folder)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(folder, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what openapi.json, quickstart.md and reach.md give, %v: run go generate ./adapters/in/httpapi", name, err)
		}
	}
}

// testdata/v1.txt has all that providers have been promised to stay: each call, field, word, status, code and event.
func TestNothingThatIsPromisedGoesAway(t *testing.T) {
	var now []string
	view := described(t).page("")
	for _, code := range view.Codes {
		now = append(now, "error "+code.Code+" "+code.Status)
	}
	for _, o := range operations(view) {
		now = append(now, strings.TrimSpace(o.ID+" "+o.Method+" "+o.Path))
		for part, fields := range map[string][]fieldView{"parameter": o.Parameters, "request": o.Fields, "answer": o.Answer} {
			for _, f := range fields {
				now = append(now, strings.TrimSpace(o.ID+" "+part+" "+f.Path+" "+f.Kind+" "+f.Label))
			}
		}
		for _, status := range o.Statuses {
			now = append(now, o.ID+" "+status[:3])
		}
		for _, code := range o.Codes {
			now = append(now, o.ID+" "+code)
		}
	}
	slices.Sort(now)
	now = slices.Compact(now)
	const file = "testdata/v1.txt"
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(now, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	promised := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range promised {
		if !slices.Contains(now, line) {
			t.Errorf("%s: this is promised to stay", line)
		}
	}
	for _, line := range now {
		if !slices.Contains(promised, line) {
			t.Errorf("%s: this is new: list it under \"Changes of the API\", with info.version, and record it by -update", line)
		}
	}
}

func TestTheVersionIsTheDayOfTheNewestChange(t *testing.T) {
	o := described(t)
	days := regexp.MustCompile(`(?m)^\| (\d{4}-\d\d-\d\d) \|`).FindAllStringSubmatch(o.description("What may change"), -1)
	version := o.at(o.root, "info", "version").Text
	if len(days) == 0 || days[0][1] != version || !slices.IsSortedFunc(days, func(a, b []string) int { return strings.Compare(b[1], a[1]) }) {
		t.Errorf("info.version is %s, and the changes are of %q", version, days)
	}
}

func TestAFieldOfAllEventsIsDescribedOnceAndWhereItDiffers(t *testing.T) {
	var got []string
	view := described(t).page("")
	for _, f := range view.Envelope {
		if f.Path == "request_id" {
			got = append(got, f.Text)
		}
	}
	for _, event := range view.Webhooks {
		for _, f := range event.Fields {
			if !strings.HasPrefix(f.Path, "data.") {
				got = append(got, event.Path+" "+f.Path)
			}
		}
	}
	want := []string{"The `X-Request-Id` of the call that caused it.", "mandate.changed request_id", "checkout.cancelled request_id", "agreement.withdrawn request_id"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// operations returns the operations of a page, and its events.
func operations(view pageView) []operationView {
	for i, event := range view.Webhooks {
		view.Webhooks[i].Fields, view.Webhooks[i].Answer = nil, slices.Concat(event.Fields, view.Envelope)
	}
	return append(view.Operations, view.Webhooks...)
}

// A provider reaches every error, every event and every word of a status in the sandbox, and reach.md says how.
func TestThePageSaysHowEverythingIsReached(t *testing.T) {
	o := described(t)
	view, want := o.page(""), map[string]string{}
	for _, code := range view.Codes {
		want[code.Anchor] = ""
	}
	for _, event := range view.Webhooks {
		want[event.ID] = ""
	}
	for _, operation := range view.Operations {
		for _, f := range operation.Answer {
			words := strings.TrimSuffix(f.Kind, " | …")
			if operation.Method == "GET" && strings.HasSuffix(f.Path, "status") && strings.Contains(words, " | ") && !strings.HasPrefix(f.Text, "As in a get") {
				want[f.Anchor] = words
			}
		}
	}
	for anchor, words := range want {
		var got []string
		for _, r := range o.reach[anchor] {
			got = append(got, r.Word)
		}
		if strings.Join(got, " | ") != words || got == nil {
			t.Errorf("of %s reach.md has %q, want %q", anchor, got, words)
		}
	}
	for anchor := range o.reach {
		if _, ok := want[anchor]; !ok {
			t.Errorf("reach.md has %s, which is no error, event or status", anchor)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func described(t *testing.T) spec {
	t.Helper()
	root, err := strictjson.Parse([]byte(read(t, "openapi.json")), maxDepth)
	if err != nil {
		t.Fatal(err)
	}
	return newSpec(root, read(t, "reach.md"))
}
