package httpapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// maxUnknown is how many unknown names of one object are looked at: a body full of them is no slip.
const maxUnknown = 16

// hints ask, for every known field that is absent, whether an unknown one was meant for it: one
// beside it that looks like it, one that stands outside of its section, or the whole section under
// a name that looks like its own.
func (f *form) hints() checkout.Hints {
	hints := checkout.Hints(nil)
	hint := func(field, format string, args ...any) {
		if hints == nil {
			hints = checkout.Hints{}
		}
		hints[field] = fmt.Sprintf(format, args...)
	}
	outside := f.unknown()
	for _, s := range f.sections {
		section := strings.TrimSuffix(s.path, ".")
		whole := ""
		if s.value.Kind == strictjson.Null {
			whole = nearest(section, outside)
		}
		inside := s.unknown()
		for _, name := range s.known {
			if v, _ := s.value.Member(name); v.Kind != strictjson.Null {
				continue
			}
			switch beside, stray := nearest(name, inside), nearest(name, outside); {
			case whole != "":
				hint(s.path+name, "is %q a misspelling of %q?", whole, section)
			case beside != "":
				hint(s.path+name, "is %q a misspelling of it?", beside)
			case stray != "":
				hint(s.path+name, "is %q, outside of %q, meant for it?", stray, section)
			}
		}
	}
	return hints
}

// unknown returns names of the object that it was not asked for.
func (s *section) unknown() (names []string) {
	for _, m := range s.value.Members {
		if len(names) < maxUnknown && !slices.Contains(s.known, m.Name) {
			names = append(names, m.Name)
		}
	}
	return names
}

// nearest returns the candidate that looks most like name, or "" if none looks like it.
func nearest(name string, candidates []string) (found string) {
	want := plain(name)
	best := 2 // slips that are let pass: a doubled letter here, two swapped there
	if len(want) < 6 {
		best = 1
	}
	for _, candidate := range candidates {
		got := plain(candidate)
		if d := len(got) - len(want); max(d, -d) > best {
			continue
		}
		if d := slips(got, want); d < best || d == best && found == "" {
			best, found = d, candidate
		}
	}
	return found
}

// plain writes a name without what styles of naming differ in: firstName is first_name.
func plain(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
}

// slips counts the letters that were put in, left out, swapped with the next one or taken for another.
func slips(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	before, last, row := rows[0], rows[1], rows[2]
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			differ := 1
			if a[i] == b[j] {
				differ = 0
			}
			row[j+1] = min(last[j]+differ, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
