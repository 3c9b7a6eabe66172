package agreement_test

import (
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
)

func ExampleNewNumber() {
	entropy := [8]byte{0: 0x1f, 7: 42} // from crypto/rand
	fmt.Println(agreement.NewNumber(2027, entropy))
	// Output: PPA-2027-000000001A5
}

func ExampleMistyped() {
	for _, number := range []string{"PPA-2027-000000001A5", "PPA-2027-00000000A15"} {
		fmt.Println(number, agreement.Mistyped(number))
	}
	// Output:
	// PPA-2027-000000001A5 false
	// PPA-2027-00000000A15 true
}

func ExampleAgreement_Text() {
	zone := time.FixedZone("NZDT", 13*60*60)
	sections, err := diploma().Text(zone)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range sections {
		fmt.Println(s.Heading())
		for _, cells := range s.Table.Rows {
			fmt.Printf("  %s  %s  %s\n", cells[1], cells[2], cells[3])
		}
	}
	// Output:
	// Payment Plan Agreement
	// At a glance
	// 1. Planned payments
	//   Sunday 31 January 2027  Initial payment  $200.00
	//   Sunday 28 February 2027  Instalment  $697.50
	//   Wednesday 31 March 2027  Instalment  $697.50
	//   Friday 30 April 2027  Instalment  $697.50
	//   Monday 31 May 2027  Final instalment  $697.52
	// 2. Names and contacts
	// 3. What the course costs
	// 4. What the student declared
	// 5. Direct debit authority
	// 6. Direct debit terms
	// 7. Terms of the plan
	// 8. For the record
}
