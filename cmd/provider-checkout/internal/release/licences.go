package main

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licences holds the texts that were read and found acceptable: see parseTable.
//
//go:embed licences.txt
var licences string

// allowed returns the identifiers, as of SPDX, of the licences that linked code may have.
func allowed() []string {
	return []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "Bitstream-Vera", "ISC", "MIT", "OFL-1.1",
		"LicenseRef-Arev", "LicenseRef-public-domain"}
}

// table gives the licences in a text by the text's fingerprint.
type table map[string][]string

// parseTable reads lines of a fingerprint and identifiers. A text that covers nothing that is
// linked has "none". It refuses an identifier that is not allowed.
func parseTable(lines string) (table, error) {
	t := table{}
	for line := range strings.Lines(lines) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		print, ids := fields[0], fields[1:]
		if slices.Equal(ids, []string{"none"}) {
			t[print] = nil
			continue
		}
		if len(ids) == 0 {
			return nil, fmt.Errorf("licence text %s has no identifier", print)
		}
		for _, id := range ids {
			if !slices.Contains(allowed(), id) {
				return nil, fmt.Errorf("licence %s is not allowed", id)
			}
		}
		t[print] = ids
	}
	return t, nil
}

// holder matches a line that only says whose work it is, and when.
var holder = regexp.MustCompile(`(?im)^\W*(copyright\s*(\(c\)|©|\[|\d).*|all rights reserved\W*)$`)

// fingerprint returns the SHA-256 of a text's words. Lines of copyright holders, the layout and
// punctuation do not count, for the same licence is written in many ways.
func fingerprint(text []byte) string {
	words := regexp.MustCompile(`[a-z0-9]+`).FindAllString(strings.ToLower(holder.ReplaceAllString(string(text), "")), -1)
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(words, " "))))
}

// text is a file that must go with a binary.
type text struct {
	name    string // module@version/path
	content []byte
}

var (
	licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense|copyright)([^a-z].*)?$`)
	noticeFile  = regexp.MustCompile(`(?i)^(notice|patents)(\.txt|\.md)?$`)
)

// inspect returns the licences of a module and its texts, from the folders of its linked
// packages up to its root. A licence that is not in the table is an error.
func inspect(module, root string, folders []string, known table) (ids []string, texts []text, err error) {
	for _, folder := range upTo(root, folders) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, nil, err
		}
		for _, entry := range entries {
			judged := licenceFile.MatchString(entry.Name()) && filepath.Ext(entry.Name()) != ".go"
			if entry.IsDir() || !judged && !noticeFile.MatchString(entry.Name()) {
				continue
			}
			file := filepath.Join(folder, entry.Name())
			content, err := os.ReadFile(file)
			if err != nil {
				return nil, nil, err
			}
			inside, err := filepath.Rel(root, file)
			if err != nil {
				return nil, nil, err
			}
			of, ok := known[fingerprint(content)]
			switch {
			case judged && !ok:
				return nil, nil, fmt.Errorf("licence of %s is unknown: read %s and, if it is acceptable, add it to licences.txt as %s",
					module, file, fingerprint(content))
			case judged && len(of) == 0:
				continue
			case judged:
				ids = append(ids, of...)
			}
			texts = append(texts, text{module + "/" + filepath.ToSlash(inside), content})
		}
	}
	if len(ids) == 0 {
		return nil, nil, fmt.Errorf("%s has no licence in %s", module, root)
	}
	slices.Sort(ids)
	return slices.Compact(ids), texts, nil
}

// upTo returns the folders and those above them up to the root, each once, in order.
func upTo(root string, folders []string) []string {
	all := []string{root}
	for _, folder := range folders {
		for ; len(folder) > len(root); folder = filepath.Dir(folder) {
			all = append(all, folder)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// thirdParty returns all the texts in one.
func thirdParty(modules []module) []byte {
	var b strings.Builder
	b.WriteString("This program holds the work of others. These are their licences and notices.\n")
	for _, m := range modules {
		for _, t := range m.texts {
			fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), t.name, strings.TrimSpace(string(t.content)))
		}
	}
	return []byte(b.String())
}
