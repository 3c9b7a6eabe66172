package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const moduleRoot = "../.."

// parts are the files of which the reference at /docs is made; its own tests check its links.
var parts = []string{"adapters/in/httpapi/quickstart.md", "adapters/in/httpapi/reach.md"}

// pages returns the text of every page of the repository, by its path from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(moduleRoot, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return filepath.SkipDir
		case !entry.IsDir() && filepath.Ext(path) == ".md":
			text, err := os.ReadFile(path)
			if name, _ := filepath.Rel(moduleRoot, path); !slices.Contains(parts, name) {
				found[name] = string(text)
			}
			return err
		}
		return nil
	})
	if err != nil || len(found) < 5 {
		t.Fatalf("%d pages: %v", len(found), err)
	}
	return found
}

var (
	fence     = regexp.MustCompile("(?ms)^```.*?^```")
	link      = regexp.MustCompile(`(!?)\[([^\]]*)\]\(([^)\s]*)\)`)
	heading   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	codeSpan  = regexp.MustCompile("`([^`\n]+)`")
	example   = regexp.MustCompile(`\bExample\w*`)
	noAnchor  = regexp.MustCompile(`[^\pL\pN _-]`)
	flagName  = regexp.MustCompile(`(?:^|[\s\[])--([a-z][a-z-]*)`)
	testRun   = regexp.MustCompile(`-run '?(\w+)`)
	testedDir = regexp.MustCompile(`go (?:test|run)\b.* (\./[\w/.-]+)`)
)

// Every manual is in one folder, and its index leads to each.
func TestManualsAreInOneFolderWithAnIndex(t *testing.T) {
	const manuals = "cmd/provider-checkout/docs"
	all := pages(t)
	for page := range all {
		folder, name := filepath.Dir(page), filepath.Base(page)
		switch {
		case page == "README.md" || strings.HasPrefix(folder, ".github") || name == "README.md":
		case folder != manuals:
			t.Errorf("%s is a manual beside code: put it into %s", page, manuals)
		case !strings.Contains(all[manuals+"/README.md"], "]("+name+")"):
			t.Errorf("the index of the manuals does not lead to %s", name)
		}
	}
}

func TestREADMEIsShortAndPlain(t *testing.T) {
	text := pages(t)["README.md"]
	if n := len(strings.Fields(text)); n > 700 {
		t.Errorf("%d words, want 700 at most: what is more belongs to a manual", n)
	}
	prose := link.ReplaceAllString(fence.ReplaceAllString(text, ""), "$2")
	for line := range strings.SplitSeq(prose, "\n") {
		if strings.HasPrefix(line, "|") || strings.HasPrefix(line, "#") {
			continue
		}
		for sentence := range strings.SplitSeq(line, ". ") {
			if n := len(strings.Fields(sentence)); n > 24 {
				t.Errorf("%d words, want 24 at most: %s", n, sentence)
			}
		}
	}
}

// A link of a page leads to a file or to one of its headings, and an example that it names is in the file that the link
// leads to. A picture is small and has a text for people who do not see it.
func TestLinksOfThePagesLeadSomewhere(t *testing.T) {
	all := pages(t)
	for page, text := range all {
		for _, found := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			whole, picture, label := found[0], found[1] != "", found[2]
			target, anchor, _ := strings.Cut(found[3], "#")
			if strings.Contains(target, "://") {
				continue
			}
			to := page
			if target != "" {
				to = filepath.Join(filepath.Dir(page), target)
			}
			info, err := os.Stat(filepath.Join(moduleRoot, to))
			if err != nil {
				t.Errorf("%s: %s: %v", page, whole, err)
				continue
			}
			if anchor != "" && !slices.Contains(anchors(all[to]), anchor) {
				t.Errorf("%s: %s: %s has no such heading", page, whole, to)
			}
			if picture && (info.Size() > 120<<10 || label == "") {
				t.Errorf("%s: %s is of %d bytes, want 120 KB at most, and a text", page, whole, info.Size())
			}
			for _, name := range example.FindAllString(label, -1) {
				if file, err := os.ReadFile(filepath.Join(moduleRoot, to)); err != nil || !strings.Contains(string(file), "func "+name+"(") {
					t.Errorf("%s: %s: there is no %s, %v", page, whole, name, err)
				}
			}
		}
	}
}

// anchors returns the anchors of the headings in a page.
func anchors(text string) (all []string) {
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		all = append(all, strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}

// A command that a page has in code exists, with the flags that it is given, and so does a test.
func TestCommandsOfThePagesExist(t *testing.T) {
	checked, help, names := 0, map[string]string{}, commandNames()
	for _, name := range names {
		help[name] = try(t, nil, "", append(strings.Fields(name), "--help")...).stdout
	}
	for page, text := range pages(t) {
		for _, code := range codeOf(text) {
			for _, command := range programCalls(code, names) {
				checked++
				checkCall(t, page, command, help)
			}
			if m := testedDir.FindStringSubmatch(code); m != nil {
				checked++
				checkTest(t, page, code, m[1])
			}
			if name, _, _ := strings.Cut(code, " "); strings.HasPrefix(name, ".ci/") {
				if _, err := os.Stat(filepath.Join(moduleRoot, name)); err != nil {
					t.Errorf("%s: %s: %v", page, code, err)
				}
			}
		}
	}
	if checked < 60 {
		t.Errorf("%d commands are found, want more: are they written in another way?", checked)
	}
}

// codeOf returns the code of a page: the lines of its blocks, with continued lines joined, and the code within a text.
func codeOf(text string) (code []string) {
	for _, block := range fence.FindAllString(text, -1) {
		code = append(code, strings.Split(strings.ReplaceAll(block, "\\\n", " "), "\n")...)
	}
	for _, m := range codeSpan.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		code = append(code, strings.ReplaceAll(m[1], `\|`, "|"))
	}
	return code
}

var (
	programCall = regexp.MustCompile(`(?:^|[ (])(?:\./|go run \./cmd/)?provider-checkout ([a-z][^#)]*)`)
	alternative = regexp.MustCompile(`^([a-z]+) ([a-z]+)\|([a-z]+)(.*)$`)
)

// programCalls returns the calls of the program in code, from the command's name on: what follows the program's name, and
// code that begins with the first word of a command's name.
func programCalls(code string, names []string) (calls []string) {
	for _, m := range programCall.FindAllStringSubmatch(code, -1) {
		calls = append(calls, m[1])
	}
	first, rest, more := strings.Cut(code, " ")
	if slices.ContainsFunc(names, func(name string) bool {
		group, _, inGroup := strings.Cut(name, " ")
		return group == first && (more && !strings.HasPrefix(rest, "{") || !inGroup)
	}) {
		calls = append(calls, code)
	}
	for i, c := range calls {
		if m := alternative.FindStringSubmatch(c); m != nil {
			calls[i] = m[1] + " " + m[2] + m[4]
			calls = append(calls, m[1]+" "+m[3]+m[4])
		}
	}
	return calls
}

// checkCall checks that the program has the command of a call, with its flags, by the help of every command.
func checkCall(t *testing.T, page, call string, help map[string]string) {
	t.Helper()
	words := strings.Fields(call)
	for n := min(2, len(words)); n > 0; n-- {
		text, exists := help[strings.Join(words[:n], " ")]
		if !exists {
			continue
		}
		for _, m := range flagName.FindAllStringSubmatch(call, -1) {
			if m[1] != "help" && !regexp.MustCompile(`--`+m[1]+`\b`).MatchString(text) {
				t.Errorf("%s: %s: the command has no --%s", page, call, m[1])
			}
		}
		return
	}
	t.Errorf("%s: %s: there is no such command", page, call)
}

// checkTest checks that a package exists, and in it the test that code runs.
func checkTest(t *testing.T, page, code, folder string) {
	t.Helper()
	if strings.HasSuffix(folder, "/...") {
		folder = strings.TrimSuffix(folder, "...")
	}
	files, err := filepath.Glob(filepath.Join(moduleRoot, folder, "*.go"))
	if err != nil || len(files) == 0 && folder != "./" {
		t.Errorf("%s: %s: there is no package %s, %v", page, code, folder, err)
		return
	}
	m := testRun.FindStringSubmatch(code)
	if m == nil {
		return
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), "func "+m[1]) {
			return
		}
	}
	t.Errorf("%s: %s: there is no %s in %s", page, code, m[1], folder)
}

// Times, sizes and rates of the API stand in its reference at /docs alone.
func TestTheGuideForIntegratorsRepeatsNoFigureOfTheReference(t *testing.T) {
	guide := fence.ReplaceAllString(pages(t)["cmd/provider-checkout/docs/integrating.md"], "")
	figure := regexp.MustCompile(`[0-9]+ (ms|s|KiB|seconds?|minutes?|hours?|days?|requests?|attempts?)\b`)
	for _, repeated := range figure.FindAllString(guide, -1) {
		t.Errorf("integrating.md says %q", repeated)
	}
	if guide == "" || !figure.MatchString("up to 8 s and") {
		t.Error("nothing was looked at")
	}
}
