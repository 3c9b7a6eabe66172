// Command cancel cancels a checkout before its confirm. It takes BASE, KEY and CHECKOUT from the environment.
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

var client = &http.Client{Timeout: 30 * time.Second}

// cancel returns the status of the checkout, or the code of the refusal. Sending it again is safe.
func cancel(base, key, checkout string) (string, error) {
	request, err := http.NewRequest(http.MethodPost, base+"/v1/provider-checkouts/"+checkout+"/cancel",
		strings.NewReader(`{"reason": "The student chose another course."}`))
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	var result struct {
		Checkout struct{ Status string }
		Error    struct{ Code string } // CONFLICT: it is confirmed
	}
	err = json.NewDecoder(answer.Body).Decode(&result)
	return cmp.Or(result.Checkout.Status, result.Error.Code), err
}

func main() {
	status, err := cancel(os.Getenv("BASE"), os.Getenv("KEY"), os.Getenv("CHECKOUT"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(status)
}
