// Package providerfile reads the file in which an operator describes providers and their catalogues.
package providerfile

import "github.com/provider-checkout/provider-checkout/catalogue"

// Faults are everything that is wrong with a file.
type Faults []catalogue.Fault

func (f Faults) Error() string { panic("todo") }

// Parse reads a provider file. A faulty one is refused whole, with Faults.
func Parse(data []byte) ([]catalogue.Configuration, error) { panic("todo") }
