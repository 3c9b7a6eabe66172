package main

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

// made matches the rest of the names of variables that Kubernetes makes for a Service with the program's name.
var made = regexp.MustCompile(`^(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?)?)$`)

// variables returns the function that looks a variable up in an environment of NAME=value, of which the first of a name counts.
func variables(environment []string) func(name string) string {
	return func(name string) string {
		for _, setting := range environment {
			if n, value, _ := strings.Cut(setting, "="); n == name {
				return value
			}
		}
		return ""
	}
}

// checkVariables returns an error that names every variable of the environment, a line each, that has the prefix of the settings and that
// no command reads. It ignores what Kubernetes makes, and what tests set.
func checkVariables(environment []string) error {
	known := []string{operatorVariable, keyVariable, signingVariable}
	for _, c := range credentials() {
		known = append(known, c.variable, c.variable+"_FILE")
	}
	for _, f := range serveSettings() {
		known = append(known, variableOf(f.Name))
	}
	var wrong []error
	for _, setting := range environment {
		name, value, _ := strings.Cut(setting, "=")
		rest, ours := strings.CutPrefix(name, variablePrefix)
		if !ours || value == "" || slices.Contains(known, name) || made.MatchString(rest) || rest == "TEST" || strings.HasPrefix(rest, "TEST_") {
			continue
		}
		fault := "the variable " + name + " is no setting"
		if meant := nearest(name, known); meant != "" {
			fault += ", do you mean " + meant + "?"
		}
		wrong = append(wrong, errors.New(fault))
	}
	return errors.Join(wrong...)
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
