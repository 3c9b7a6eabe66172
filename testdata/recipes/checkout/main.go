// Command checkout enrols a student: create, have the payer set up the direct debit, poll, confirm.
// It takes BASE, KEY, PROVIDER, ORDER, COURSE and FIRST_PAYMENT (YYYY-MM-DD) from the environment.
// A backend keeps the order id and the checkout id with its enrolment, and polls from a job: the
// payer may take days.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"
)

const (
	attempts  = 5
	pollEvery = 2 * time.Second
)

type object = map[string]any

// answer has what the flow needs of the three answers.
type answer struct {
	Records struct {
		Opportunity string `json:"opportunity_id"`
	}
	Checkout struct {
		ID string `json:"checkout_id"`
	}
	Debit struct {
		SetupURL      string `json:"setup_url"`
		Token         string `json:"token"`
		ID            string `json:"dda_id"`
		SetupComplete bool   `json:"setup_complete"`
	} `json:"direct_debit"`
	Agreement struct{ Number string }
}

var client = &http.Client{Timeout: 30 * time.Second}

// call sends one request until it is answered; the same bytes each time, which is safe here.
// A lost answer, 429 and 5xx are tried again; any other refusal ends the program.
func call(method, path string, body object) (a answer) {
	var sent []byte // nil for a poll
	if body != nil {
		var err error
		if sent, err = json.Marshal(body); err != nil {
			log.Fatal(err)
		}
	}
	for attempt := 1; ; attempt++ {
		status, after, text, err := try(method, path, sent)
		switch {
		case err == nil && status < 300:
			if err := json.Unmarshal(text, &a); err != nil {
				log.Fatal(err)
			}
			return a
		case err == nil:
			err = fmt.Errorf("%d %s", status, text)
			if status != http.StatusTooManyRequests && status < 500 {
				log.Fatal(err) // sending the same again would be refused again
			}
		}
		if attempt == attempts {
			log.Fatalf("given up after %d attempts: %v", attempts, err)
		}
		wait := 500 * time.Millisecond << attempt // 1, 2, 4 and 8 s
		if seconds, err := strconv.Atoi(after); err == nil && seconds >= 0 {
			wait = time.Duration(seconds) * time.Second
		}
		log.Print("trying again: ", err)
		time.Sleep(wait)
	}
}

// try sends the request once and reads the answer to its end.
func try(method, path string, sent []byte) (status int, after string, text []byte, err error) {
	url := os.Getenv("BASE") + "/v1/provider-checkouts" + path
	req, err := http.NewRequest(method, url, bytes.NewReader(sent))
	if err != nil {
		return 0, "", nil, err
	}
	req.Header.Set("Authorization", "Bearer "+os.Getenv("KEY"))
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return 0, "", nil, err
	}
	defer res.Body.Close()
	text, err = io.ReadAll(res.Body)
	return res.StatusCode, res.Header.Get("Retry-After"), text, err
}

func main() {
	log.SetFlags(0)
	firstPayment := os.Getenv("FIRST_PAYMENT")
	// The order id is made once for an enrolment, so that a create that is sent again opens no second checkout.
	provider := object{"provider_code": os.Getenv("PROVIDER"), "provider_order_id": os.Getenv("ORDER")}
	created := call(http.MethodPost, "", object{
		"provider": provider,
		"student":  object{"first_name": "Aroha", "last_name": "Ngata", "email": "aroha@students.example.ac.nz"},
		"course":   object{"course_code": os.Getenv("COURSE")},
		"plan":     object{"payment_frequency": "Weekly", "first_payment_date": firstPayment},
	})
	fmt.Println(created.Debit.SetupURL) // send the payer's browser there

	path := "/" + created.Checkout.ID
	for !call(http.MethodGet, path, nil).Debit.SetupComplete {
		time.Sleep(pollEvery)
	}

	confirmed := call(http.MethodPost, path+"/confirm", object{
		"provider": provider,
		"checkout": object{"checkout_id": created.Checkout.ID, "checkout_token": cmp.Or(created.Debit.Token, "confirmed"),
			"opportunity_id": created.Records.Opportunity, "dda_id": created.Debit.ID},
		"payment": object{"payment_method": "service_payment_plan", "first_payment_date": firstPayment,
			"deposit_confirmed": true},
		// What the payer has ticked: ask, never assume.
		"declarations": object{"payment_plan_accepted": true, "information_confirmed": true,
			"privacy_consent_accepted": true},
	})
	// After a lost answer this is already_confirmed, with the same agreement.
	fmt.Println("agreement", confirmed.Agreement.Number)
}
