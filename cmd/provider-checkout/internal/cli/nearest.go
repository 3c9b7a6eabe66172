package cli

import "slices"

// nearest returns the word that another was probably meant to be, or "" if it is like none of them.
func nearest(word string, words []string) (best string) {
	least := 1 + max(2, len(word)/5)
	for _, candidate := range slices.Sorted(slices.Values(words)) {
		if n := edits(word, candidate); n < least {
			best, least = candidate, n
		}
	}
	return best
}

// edits returns the number of bytes that are put in, taken out or changed to make a word another.
func edits(from, to string) int {
	row := make([]int, len(to)+1)
	for i := range row {
		row[i] = i
	}
	for i := range len(from) {
		before := row[0] // of the row above, to the left
		row[0] = i + 1
		for j := range len(to) {
			change := before
			if from[i] != to[j] {
				change++
			}
			before, row[j+1] = row[j+1], min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}
