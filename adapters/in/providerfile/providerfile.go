// Package providerfile reads the files in which an operator describes providers and their catalogues,
// and its own terms.
package providerfile

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

// maxDepth is twice what a provider file needs.
const maxDepth = 16

// Faults are all faults of a file.
type Faults []catalogue.Fault

// Error lists the faults with their places: a single one on one line, several on a line each.
func (f Faults) Error() string {
	if len(f) == 1 {
		return sentence(f[0])
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d faults", len(f))
	for _, fault := range f {
		text.WriteString("\n  " + sentence(fault))
	}
	return text.String()
}

func sentence(f catalogue.Fault) string {
	if f.Place == "" {
		return "the file " + f.Message
	}
	return f.Place + " " + f.Message
}

// Parse parses a provider file. A faulty file is refused as a whole, with all its Faults, or only the
// first if the file is not well-formed JSON. No fault shows a signing secret.
//
// The configurations come in the order of the file and have passed their Check; names are in
// Unicode NFC, without white space at the edges; provider codes are unique.
func Parse(data []byte) ([]catalogue.Configuration, error) { return ParseWith(data, nil) }

// Secrets returns the secret to which the file refers as "env:NAME" or "file:PATH": one of variable and file is set. Its error does not
// repeat the secret.
type Secrets func(variable, file string) (string, error)

// ParseWith parses a provider file whose signing secrets may be references. Without secrets they may not.
func ParseWith(data []byte, secrets Secrets) ([]catalogue.Configuration, error) {
	return parseProviders(data, secrets, nil, nil)
}

// ParseRecords parses a provider file that was made of records. The Faults begin with the found faults of its making, and name the
// record and field of each place in the file that places has.
func ParseRecords(data []byte, places map[string]string, found Faults) ([]catalogue.Configuration, error) {
	return parseProviders(data, nil, places, found)
}

func parseProviders(data []byte, secrets Secrets, places map[string]string, found Faults) ([]catalogue.Configuration, error) {
	all, faults := parse(data, func(o *object) []catalogue.Configuration {
		return each(o, "providers", required, func(o *object) catalogue.Configuration { return configuration(o, secrets) })
	})
	if faults = append(found, check(all, faults, places)...); len(faults) > 0 {
		return nil, faults
	}
	return all, nil
}

// ParseTerms parses the file in which an operator describes its terms. A faulty file is refused as a
// whole, with every fault. Texts are in Unicode NFC, without white space at the edges.
func ParseTerms(data []byte) (TermsFile, error) {
	file, faults := parse(data, terms)
	if len(faults) > 0 {
		return TermsFile{}, faults
	}
	if err := errors.Join(file.Terms.Check(), file.Agency.Check(), agreement.CheckRecipients(file.Recipients)); err != nil {
		return TermsFile{}, err
	}
	return file, nil
}

// parse reads a file whose JSON is an object, and returns its faults: the first one alone if it is not well-formed JSON.
func parse[T any](data []byte, read func(*object) T) (file T, faults Faults) {
	document, err := strictjson.Parse(data, maxDepth)
	if fault, ok := errors.AsType[*strictjson.Error](err); ok {
		return file, Faults{{Place: fault.Path, Message: fault.Message}}
	}
	file = readObject(&faults, "", document, read)
	return file, faults
}

// check adds the faults of the configurations, except faults that only follow from a value that could not be parsed. places has other
// names of places in the file.
func check(configurations []catalogue.Configuration, faults Faults, places map[string]string) Faults {
	unread := make(map[string]bool, len(faults))
	for _, f := range faults {
		unread[f.Place] = true
	}
	first := make(map[string]string) // place of a provider code's first use
	for i, c := range configurations {
		place := fmt.Sprintf("providers[%d]", i)
		for _, f := range c.Check() {
			if f.Place = place + "." + f.Place; !isWithin(f.Place, unread) {
				faults = append(faults, f)
			}
		}
		if earlier, used := first[c.Provider.Code]; used && c.Provider.Code != "" {
			faults.add(place+".provider_code", "must be unique: "+earlier+" has the same")
			continue
		}
		first[c.Provider.Code] = cmp.Or(places[place], place)
	}
	for i, f := range faults {
		faults[i].Place = cmp.Or(places[f.Place], f.Place)
	}
	return faults
}

// isWithin reports whether place is one of places or inside one.
func isWithin(place string, places map[string]bool) bool {
	for place != "" && !places[place] {
		place = place[:max(strings.LastIndexAny(place, ".["), 0)]
	}
	return place != ""
}
