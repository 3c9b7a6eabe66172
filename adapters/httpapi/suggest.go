package httpapi

import "strings"

// nearest returns the candidate that is most like name, or "" if none is like it.
func nearest(name string, candidates []string) (found string) {
	want := normalize(name)
	best := 2 // the largest distance that counts as a misspelling
	if len(want) < 6 {
		best = 1
	}
	for _, candidate := range candidates {
		got := normalize(candidate)
		if d := len(got) - len(want); max(d, -d) > best {
			continue
		}
		if d := editDistance(got, want); d < best || d == best && found == "" {
			best, found = d, candidate
		}
	}
	return found
}

// normalize removes what styles of naming differ in: firstName is first_name.
func normalize(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
}

// editDistance returns how many letters were inserted, left out, swapped with their neighbour or replaced
// (Damerau's and Levenshtein's distance, in its restricted form).
func editDistance(a, b string) int {
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
