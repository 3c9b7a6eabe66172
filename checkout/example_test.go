package checkout_test

import (
	"bytes"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// The record of an enrolment has the same id whenever, and by whomever, it is made.
func ExampleNaturalKey() {
	fmt.Println(checkout.NaturalKey(catalogue.Sandbox, "KOWHAI", "ENROL-1", "contact"))
	// Output: 17ccda669d5e58760e9bbca20ead294d
}

func ExampleKeyring() {
	operator := bytes.Repeat([]byte("secret! "), 4) // 32 bytes or more
	keyring, err := checkout.NewKeyring(operator)
	if err != nil {
		fmt.Println(err)
		return
	}
	token := keyring.Issue(1, time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)) // of this only epoch, kid and expiry are stored
	text, _ := keyring.Text("TUI-1795132800000-aaaaaaaaaaaaaaaa", token)
	id, epoch, ok := keyring.Read(text)
	fmt.Println(id, epoch, ok)

	_, _, ok = keyring.Read(text[:len(text)-1] + "x")
	fmt.Println("forged:", ok)
	// Output:
	// TUI-1795132800000-aaaaaaaaaaaaaaaa 1 true
	// forged: false
}
