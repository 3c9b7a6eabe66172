// Command catchup lists the events behind a cursor. It takes BASE, KEY and CURSOR from the environment; CURSOR is empty the first time.
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
	Events []struct {
		ID     string `json:"event_id"`
		Status string
		Body   string // as it is sent
	}
	Next string
}

// eventsAfter returns the events behind a cursor, 100 at most, and the cursor to go on from.
func eventsAfter(base, key, cursor string) (p page, err error) {
	request, err := http.NewRequest(http.MethodGet, base+"/v1/events?after="+cursor, nil)
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
	cursor := os.Getenv("CURSOR")
	for {
		p, err := eventsAfter(os.Getenv("BASE"), os.Getenv("KEY"), cursor)
		if err != nil {
			log.Fatal(err)
		}
		for _, e := range p.Events {
			fmt.Println(e.ID, e.Status) // take it as your receiver does, once
		}
		if cursor = p.Next; len(p.Events) == 0 {
			break
		}
	}
	fmt.Println("next", cursor) // keep it
}
