package contract_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

func TestContract4AnIdempotencyKeyIsBoundToTheOrderThatItCreated(t *testing.T) {
	taken := []string{"Idempotency-Key", "provider.provider_order_id"}
	contract(t, func(t *testing.T, s *suite) {
		for _, tt := range []struct {
			name, provider, order, key string // no key: no header
			status                     int
			answered                   string // idempotency_key
		}{
			{"the create that binds its key does not name it", "KOWHAI", "A", "key-1", 201, ""},
			{"the same again", "KOWHAI", "A", "key-1", 200, "key-1"},
			{"the same order under another key", "KOWHAI", "A", "key-2", 200, "key-2"},
			{"the same order without a key", "KOWHAI", "A", "", 200, "KOWHAI:A"},
			{"the same order under the default key as a header", "KOWHAI", "A", "KOWHAI:A", 200, "KOWHAI:A"},
			{"the bound key with another order", "KOWHAI", "B", "key-1", 409, ""},
			{"a key that only a replay named is free", "KOWHAI", "B", "key-2", 201, ""},
			{"the bound key with an order of another key", "KOWHAI", "B", "key-1", 409, ""},
			{"and the other way round", "KOWHAI", "A", "key-2", 409, ""},
			{"a create without a header binds the default key", "KOWHAI", "C", "", 201, ""},
			{"which another order cannot send", "KOWHAI", "D", "KOWHAI:C", 409, ""},
			{"the order itself may spell it", "KOWHAI", "C", "KOWHAI:C", 200, "KOWHAI:C"},
			{"or leave it out", "KOWHAI", "C", "", 200, "KOWHAI:C"},
			{"the default key of an order that is not there is free", "KOWHAI", "D", "KOWHAI:F", 201, ""},
			{"and is that order's no longer", "KOWHAI", "F", "", 409, ""},
			{"not as a header either", "KOWHAI", "F", "KOWHAI:F", 409, ""},
			{"the order can be opened under a key of its own", "KOWHAI", "F", "key-f", 201, ""},
			{"and replays under it", "KOWHAI", "F", "key-f", 200, "key-f"},
			{"but not without it", "KOWHAI", "F", "", 409, ""},
			{"keys differ by letter case", "KOWHAI", "E", "KEY-1", 201, ""},
			{"another provider's keys are its own", "TUI", "A", "key-1", 201, ""},
			{"and its orders too", "TUI", "B", "", 201, ""},
			{"its replay names its own default key", "TUI", "B", "", 200, "TUI:B"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				body, headers := catalogueCreate, []string{}
				if tt.provider == "TUI" {
					body = legacyCreate
				}
				if tt.key != "" {
					headers = []string{"Idempotency-Key", tt.key}
				}
				before := s.Records(t)
				r := s.Post(t, tt.provider, createPath, order(body, tt.order), headers...)
				if tt.status == http.StatusConflict {
					refused(t, r, http.StatusConflict, "IDEMPOTENCY_CONFLICT", taken...)
				} else if r.Status != tt.status || r.String("idempotency_key") != tt.answered ||
					r.At("idempotent_replay") != (tt.status == http.StatusOK) || r.String("provider.provider_order_id") != tt.order {
					t.Errorf("answer %d %s, want %d with the key %q", r.Status, r.Body, tt.status, tt.answered)
				}
				if tt.status != http.StatusCreated {
					unchanged(t, s, before)
				}
			})
		}
	})
}

func TestContract4ABoundKeyDoesNotExcuseAnotherIntent(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		s.Post(t, "KOWHAI", createPath, order(catalogueCreate, "ORDER-1"), "Idempotency-Key", "key-1")
		before := s.Records(t)
		other := set(t, order(catalogueCreate, "ORDER-1"), "plan.first_payment_date", `"2027-02-02"`)
		for _, key := range []string{"key-1", "key-2"} {
			refused(t, s.Post(t, "KOWHAI", createPath, other, "Idempotency-Key", key),
				http.StatusConflict, "IDEMPOTENCY_CONFLICT", "plan.first_payment_date")
		}
		unchanged(t, s, before)
	})
}

func TestContract4ARefusedCreateBindsNoKey(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		faulty := set(t, order(catalogueCreate, "ORDER-1"), "student.email", `"nobody"`)
		refused(t, s.Post(t, "KOWHAI", createPath, faulty, "Idempotency-Key", "key-1"),
			http.StatusBadRequest, "VALIDATION_ERROR", "student.email")
		if r := s.Post(t, "KOWHAI", createPath, order(catalogueCreate, "ORDER-2"), "Idempotency-Key", "key-1"); r.Status != http.StatusCreated {
			t.Errorf("another order under the key: %d %s", r.Status, r.Body)
		}
	})
}

func TestContract8AnIdempotencyKeyHas1To255VisibleASCIICharacters(t *testing.T) {
	var visible strings.Builder
	for c := '!'; c <= '~'; c++ {
		visible.WriteRune(c)
	}
	contract(t, func(t *testing.T, s *suite) {
		for _, tt := range []struct {
			name string
			keys []string
		}{
			{"empty", []string{""}},
			{"white space only", []string{"  "}},
			{"256 characters", []string{strings.Repeat("k", 256)}},
			{"16,000 characters", []string{strings.Repeat("k", 16_000)}},
			{"a space inside", []string{"key 1"}},
			{"a tab inside", []string{"key\t1"}},
			{"a letter with a macron", []string{"kōwhai"}},
			{"a byte that is no letter", []string{"key\xff"}},
			{"sent twice", []string{"key-1", "key-2"}},
			{"sent twice alike", []string{"key-1", "key-1"}},
			{"sent twice, once empty", []string{"", "key-1"}},
		} {
			t.Run("refuses "+tt.name, func(t *testing.T) {
				var headers []string
				for _, key := range tt.keys {
					headers = append(headers, "Idempotency-Key", key)
				}
				refused(t, s.Post(t, "KOWHAI", createPath, order(catalogueCreate, "ORDER-1"), headers...),
					http.StatusBadRequest, "VALIDATION_ERROR", "Idempotency-Key")
			})
		}
		nothingStored(t, s)

		for i, key := range []string{"k", strings.Repeat("k", 255), visible.String(), "KOWHAI:ORDER-1", "';DROP/**/TABLE/**/checkouts;--", "%00"} {
			id := string(rune('A' + i))
			r := s.Post(t, "KOWHAI", createPath, order(catalogueCreate, id), "Idempotency-Key", key)
			again := s.Post(t, "KOWHAI", createPath, order(catalogueCreate, id), "Idempotency-Key", key)
			if r.Status != http.StatusCreated || again.Status != http.StatusOK || again.String("idempotency_key") != key {
				t.Errorf("key %.40q: %d, then %d %.200s", key, r.Status, again.Status, again.Body)
			}
		}
		refused(t, s.Post(t, "KOWHAI", createPath, order(catalogueCreate, "A"), "Idempotency-Key", ""),
			http.StatusBadRequest, "VALIDATION_ERROR", "Idempotency-Key")
	})
}

// Of two orders that are sent at the same time, the second with the default key of the first, only one is opened.
func TestContract4ADefaultKeyIsBoundOnceHoweverManyCome(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		for n := range 20 {
			first, second := fmt.Sprint("FIRST-", n), fmt.Sprint("SECOND-", n)
			var together sync.WaitGroup
			answers := make([]response, 16)
			for i := range answers {
				together.Go(func() {
					if i%2 == 0 {
						answers[i] = s.Post(t, "KOWHAI", createPath, order(catalogueCreate, first))
					} else {
						answers[i] = s.Post(t, "KOWHAI", createPath, order(catalogueCreate, second), "Idempotency-Key", "KOWHAI:"+first)
					}
				})
			}
			together.Wait()
			counts := map[int]int{}
			for _, r := range answers {
				counts[r.Status]++
			}
			if counts[201] != 1 || counts[200] != 7 || counts[409] != 8 {
				t.Errorf("round %d: answers by status %v, want one 201, seven 200 and eight 409", n, counts)
			}
		}
	})
}
