// Command changed lists the enrolments that changed behind a cursor. It takes BASE, KEY and CURSOR from the environment.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"
)

var client = &http.Client{Timeout: 30 * time.Second}

type page struct {
	Enrolments []struct {
		Order  string `json:"provider_order_id"`
		Status string
	}
	Next string
}

// changedAfter returns the enrolments that changed behind a cursor, 100 at most, and the cursor to go on from.
func changedAfter(base, key, cursor string) (p page, err error) {
	request, err := http.NewRequest(http.MethodGet, base+"/v1/enrolments?after="+cursor, nil)
	if err != nil {
		return p, err
	}
	request.Header.Set("Authorization", "Bearer "+key)
	answer, err := client.Do(request)
	if err != nil {
		return p, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return p, fmt.Errorf("the service answers %s", answer.Status)
	}
	return p, json.NewDecoder(answer.Body).Decode(&p)
}

func main() {
	p, err := changedAfter(os.Getenv("BASE"), os.Getenv("KEY"), os.Getenv("CURSOR"))
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range p.Enrolments {
		fmt.Println(e.Order, e.Status)
	}
	fmt.Println("next", p.Next)
}
