// Command resend has an event sent again. It takes BASE, KEY and EVENT from the environment.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"time"
)

var client = &http.Client{Timeout: 30 * time.Second}

// resend has an event sent again: 202, and 429 if an event was sent again within the last second.
func resend(base, key, event string) (status string, err error) {
	request, err := http.NewRequest(http.MethodPost, base+"/v1/events/"+event+"/redeliver", nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+key)
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	return answer.Status, answer.Body.Close()
}

func main() {
	status, err := resend(os.Getenv("BASE"), os.Getenv("KEY"), os.Getenv("EVENT"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(status)
}
