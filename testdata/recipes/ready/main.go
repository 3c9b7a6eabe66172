// Command ready asks a service what it is, and whether it is ready. It takes BASE from the environment and needs no key.
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

func about(base string) (service struct{ Environment, Version string }, err error) {
	answer, err := client.Get(base + "/v1")
	if err != nil {
		return service, err
	}
	defer answer.Body.Close()
	err = json.NewDecoder(answer.Body).Decode(&service)
	return service, err
}

func ready(base string) (bool, error) {
	answer, err := client.Get(base + "/v1/environment")
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	var environment struct {
		Readiness struct {
			ForCalls bool `json:"ready_for_api_calls"`
		}
	}
	err = json.NewDecoder(answer.Body).Decode(&environment)
	return environment.Readiness.ForCalls, err
}

func main() {
	service, err := about(os.Getenv("BASE"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(service.Environment, service.Version)
	now, err := ready(os.Getenv("BASE"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ready:", now)
}
