// Command verify judges the vectors of a file with events.Verify, which is all that a receiver in
// Go needs: hand it the bytes of the body as they came, before anything parses them. The
// example of events.Verify is a whole receiver.
//
//	go run ./testdata/recipes/verify testdata/signatures.json
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/provider-checkout/provider-checkout/events"
)

const tolerance = 5 * time.Minute // on either side of the receiver's clock

// vector is a delivery; an accepted one has a timestamp to be judged at, a refused one now and a reason.
type vector struct {
	Name, Secret, Header, Body, Reason string
	Timestamp, Now                     int64
}

func main() {
	log.SetFlags(0)
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var vectors struct{ Accepted, Refused []vector }
	if err := json.Unmarshal(text, &vectors); err != nil {
		log.Fatal(err)
	}
	wrong := 0
	judge := func(v vector, at int64, want error) {
		err := events.Verify(v.Secret, v.Header, []byte(v.Body), time.Unix(at, 0), tolerance)
		if !errors.Is(err, want) {
			wrong++
			log.Printf("%s: %v, want %v", v.Name, err, want)
		}
	}
	for _, v := range vectors.Accepted {
		judge(v, v.Timestamp, nil)
	}
	reasons := map[string]error{
		"malformed": events.ErrMalformed, "mismatch": events.ErrMismatch, "too_old": events.ErrTooOld}
	for _, v := range vectors.Refused {
		judge(v, v.Now, reasons[v.Reason])
	}
	count := len(vectors.Accepted) + len(vectors.Refused)
	fmt.Println(count, "vectors,", wrong, "wrong")
	if wrong > 0 || count == 0 {
		os.Exit(1)
	}
}
