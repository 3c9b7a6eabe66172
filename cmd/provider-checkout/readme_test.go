package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A link of the README leads to a file or to one of its headings, and an example that it names is in the file that the link leads to.
func TestREADMELinksLeadSomewhere(t *testing.T) {
	const root = "../.."
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	headings := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		anchor := regexp.MustCompile(`[^\pL\pN -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		headings["#"+strings.ReplaceAll(anchor, " ", "-")] = true
	}
	links := regexp.MustCompile(`\[([^\]]*)\]\(([^)]*)\)`).FindAllStringSubmatch(string(text), -1)
	if len(links) < 10 {
		t.Errorf("%d links, want more: are they written in another way?", len(links))
	}
	for _, link := range links {
		label, target := link[1], link[2]
		if strings.HasPrefix(target, "#") {
			if !headings[target] {
				t.Errorf("[%s](%s): there is no such heading", label, target)
			}
			continue
		}
		info, err := os.Stat(filepath.Join(root, target))
		if err != nil {
			t.Errorf("[%s](%s): %v", label, target, err)
			continue
		}
		if info.IsDir() {
			continue
		}
		file, err := os.ReadFile(filepath.Join(root, target))
		if err != nil {
			t.Fatal(err)
		}
		for _, example := range regexp.MustCompile(`\bExample\w*`).FindAllString(label, -1) {
			if !strings.Contains(string(file), "func "+example+"(") {
				t.Errorf("[%s](%s): there is no %s", label, target, example)
			}
		}
	}
}
