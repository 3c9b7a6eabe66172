package main

import (
	"fmt"
	"os"

	"github.com/provider-checkout/provider-checkout/adapters/providerfile"
	"github.com/provider-checkout/provider-checkout/agreement"
)

// readTerms reads the operator's terms from a file; an empty path means that there are none.
func readTerms(path string) (agreement.Terms, error) {
	if path == "" {
		return agreement.Terms{}, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return agreement.Terms{}, err
	}
	terms, err := providerfile.ParseTerms(data)
	if err != nil {
		return agreement.Terms{}, fmt.Errorf("%s is refused: %w", path, err)
	}
	return terms, nil
}
