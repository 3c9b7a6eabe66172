package evidence_test

import (
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
)

// A provider who kept a checkpoint sees from a proof that an agreement is on record under it. Nothing of the service is
// needed for that but the public key.
func Example() {
	private, _ := evidence.NewKey("evidence.pay.example.nz", [32]byte{}) // of random bytes, in earnest
	operator, _ := evidence.ParseKeys(private)

	var log evidence.Head
	record := []byte(`{"kind":"agreement","agreement_number":"PPA-2026-YQSAYPHZ0EQ"}`)
	nodes := log.Append(record)
	checkpoint := evidence.Checkpoint{Size: log.Size, Root: log.Root(), At: time.Date(2026, time.November, 22, 3, 4, 5, 0, time.UTC)}
	signed, _ := operator.Sign(checkpoint)
	proof, _ := operator.Prove(record, 0, signed, func([]int64) ([][]evidence.Hash, error) { return [][]evidence.Hash{nodes}, nil })

	auditor, _ := evidence.ParseKeys(operator.Public())
	read, _ := evidence.ParseProof(proof.Text())
	c, err := read.Check(auditor)
	fmt.Printf("record %d of %d at %s, %v\n", read.Position+1, c.Size, c.At.Format(time.DateOnly), err)
	fmt.Println(string(read.Leaf))
	// Output:
	// record 1 of 1 at 2026-11-22, <nil>
	// {"kind":"agreement","agreement_number":"PPA-2026-YQSAYPHZ0EQ"}
}
