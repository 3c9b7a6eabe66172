package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// made matches the rest of the names of variables that Kubernetes makes for a Service with the program's name.
var made = regexp.MustCompile(`^(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?)?)$`)

// checkVariables returns an error if the environment has a variable with the prefix of the settings that no command reads. It ignores
// what Kubernetes makes, and what tests set.
func checkVariables(environment []string) error {
	known := []string{operatorVariable, keyVariable, signingVariable}
	for _, c := range credentials() {
		known = append(known, c.variable, c.variable+"_FILE")
	}
	for _, f := range serveSettings() {
		known = append(known, variableOf(f.Name))
	}
	for _, setting := range environment {
		name, value, _ := strings.Cut(setting, "=")
		rest, ours := strings.CutPrefix(name, variablePrefix)
		if !ours || value == "" || slices.Contains(known, name) || made.MatchString(rest) || rest == "TEST" || strings.HasPrefix(rest, "TEST_") {
			continue
		}
		if meant := nearest(name, known); meant != "" {
			return usageError(fmt.Sprintf("the variable %s is no setting, do you mean %s?", name, meant))
		}
		return usageError(fmt.Sprintf("the variable %s is no setting", name))
	}
	return nil
}

// nearest returns the word that another was probably meant to be, or "" if it is like none of them.
func nearest(word string, words []string) (best string) {
	least := 1 + max(2, (len(word)-len(variablePrefix))/5)
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
