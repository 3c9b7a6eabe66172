package contract_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// repository is the root of the module.
const repository = "../../.."

// TestPromises checks that each promise in testdata/promises.txt has one test, which exists, or the words "no test". With -v it prints
// the table:
//
//	go test -v -run TestPromises ./cmd/provider-checkout/contract
func TestPromises(t *testing.T) {
	table, err := os.ReadFile(filepath.Join(repository, "testdata", "promises.txt"))
	if err != nil {
		t.Fatal(err)
	}
	promises, untested, suites := 0, "", source(t, "adapters/kit/*test/*.go")
	for line := range strings.Lines(string(table)) {
		line = strings.TrimSuffix(line, "\n")
		place, isTest := strings.CutPrefix(line, "\t")
		switch {
		case isTest && untested == "":
			t.Errorf("%s is a second test of a promise", place)
		case isTest:
			if folder, test, _ := strings.Cut(place, ": "); place != "no test" && !exists(t, folder, test, suites) {
				t.Errorf("%s: there is no test %s", untested, place)
			}
			promises, untested = promises+1, ""
		default:
			if untested != "" {
				t.Errorf("%s: the promise has no test", untested)
			}
			if untested = line; strings.HasPrefix(line, "#") {
				untested = ""
			}
		}
	}
	if untested != "" {
		t.Errorf("%s: the promise has no test", untested)
	}
	t.Logf("%d promises:\n%s", promises, table)
}

// exists reports whether a folder has a test, named by its function and, behind slashes, its subtests, which may be a suite's; or whether
// a conversation has a step of that name.
func exists(t *testing.T, place, test, suites string) bool {
	t.Helper()
	if strings.HasSuffix(place, ".txt") {
		return strings.Contains(source(t, place), "\n### "+test+"\n")
	}
	tests := source(t, place+"/*_test.go")
	function, subtests, _ := strings.Cut(test, "/")
	if !strings.Contains(tests, "\nfunc "+function+"(t *testing.T)") {
		return false
	}
	for subtest := range strings.SplitSeq(subtests, "/") {
		if subtest != "" && !strings.Contains(tests+suites, `"`+subtest+`"`) {
			return false
		}
	}
	return true
}

// source returns the text of all files of the repository that match a pattern.
func source(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repository, pattern))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
