package storetest

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// OpenedStore is a store that outlives its process, once it is opened.
type OpenedStore interface {
	ports.Admin
	Secrets() [][]byte // the operator's, or the store's own
	Close() error
}

// Place opens the store at one place, and makes it first if it is missing: for an environment, or for "" as an operator's
// command does; and with the operator's secrets, or without them with the store's own. Each store that it returns
// represents a process of its own.
type Place func(env catalogue.Environment, secrets ...[]byte) (OpenedStore, error)

// Opening tests a store that outlives its process: what it promises when it is opened, and what ports promises about
// several processes. newPlace returns a place without a store.
func Opening(t *testing.T, newPlace func(t *testing.T) Place) {
	for _, promise := range []struct {
		name  string
		check func(t *testing.T, place Place)
	}{
		{"what was stored is there when it is opened again", opensAgain},
		{"many may open a new store at once", openConcurrently},
		{"a server stamps a new store, and one of the other environment is refused", stampsEnvironment},
		{"an operator's command stamps nothing", stampsNothing},
		{"an unknown environment is refused", unknownEnvironment},
		{"another secret is refused", anotherSecret},
		{"a secret that is too short is refused", shortSecret},
		{"a second secret changes nothing", secondSecret},
		{"a new first secret takes over, and then the old one is neither needed nor enough", rotatesSecret},
		{"the store's own secret is used again, and may be given", ownSecret},
		{"production needs a given secret", productionNeedsSecret},
		{"what one process stored, another reads at once", readAfterWrite},
		{"of inserts in two processes that make each other duplicates one succeeds", insertsOfTwoProcesses},
		{"no update of two processes is lost", updatesOfTwoProcesses},
		{"a job is leased to one of two processes, and fences the other off", leasesOfTwoProcesses},
		{"a job that one process enters, leases or settles, another knows at once", jobsAcross},
		{"of two processes that enter the same jobs one gets each", jobsOfTwoProcesses},
		{"moments and refusals of two processes are all on record", journalOfTwoProcesses},
	} {
		t.Run(promise.name, func(t *testing.T) { promise.check(t, newPlace(t)) })
	}
}

// open opens the store until the test ends.
func (p Place) open(t *testing.T, env catalogue.Environment, secrets ...[]byte) OpenedStore {
	t.Helper()
	s, err := p(env, secrets...)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { must(t, "Close", s.Close()) })
	return s
}

// fails reports unless the store is refused in one line that says so.
func (p Place) fails(t *testing.T, says string, env catalogue.Environment, secrets ...[]byte) {
	t.Helper()
	s, err := p(env, secrets...)
	if err == nil {
		s.Close()
		t.Fatalf("open: got a store, want an error that says %q", says)
	}
	if text := err.Error(); !strings.Contains(text, says) || strings.Contains(text, "\n") {
		t.Errorf("open: got error %q, want one line that says %q", text, says)
	}
}

func secret(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

// anotherSecretSays is part of the error for a secret that is not the store's.
const anotherSecretSays = "encrypted under another secret"

// decrypts reports unless the store has the configuration, webhook secret included.
func decrypts(t *testing.T, s ports.Admin) {
	t.Helper()
	gets(t, "provider", configuration("KOWHAI").Provider)(s.Provider(t.Context(), "KOWHAI"))
}

func opensAgain(t *testing.T, place Place) {
	first := result(place(""))(t)
	configure(t, first, configuration("KOWHAI"), legacy("RIMU"))
	addKeys(t, first, key(1))
	insert(t, first, opened(1), opened(2))
	confirm(t, first, opened(1).Next.ID, 1)
	enqueue(t, first, workFrom(1, 3)...)
	settle(t, first, lease(t, first, work(2).ID), checkout.Outcome{State: checkout.JobDone})
	settle(t, first, lease(t, first, work(3).ID), checkout.Outcome{State: checkout.JobPending, Cursor: "so far"})
	held := lease(t, first, work(1).ID)
	refuse(t, first, refusal("KOWHAI", 20, "X", "", 1))
	want, list := export(t, first), jobs(t, first, checkout.JobFilter{})
	must(t, "Close", first.Close())
	again := place.open(t, "")
	same(t, "record", export(t, again), want)
	same(t, "jobs", jobs(t, again, checkout.JobFilter{}), list)
	gets(t, "Refusals", []checkout.Refusal{refusal("KOWHAI", 20, "X", "", 1)})(again.Refusals(t.Context(), "", ""))
	notDue(t, again, "a job that is leased", held.Job.ID)
	settle(t, again, held, checkout.Outcome{State: checkout.JobDone})
	l := lease(t, again, work(3).ID)
	same(t, "cursor", l.Cursor, "so far")
	same(t, "token", l.Token, int64(2))
	same(t, "fresh jobs", jobIDs(enqueue(t, again, workFrom(1, 4)...)), []string{work(4).ID})
}

func openConcurrently(t *testing.T, place Place) {
	const many = 8
	secrets := make([][]byte, many)
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			s, err := place(catalogue.Sandbox)
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			defer s.Close()
			secrets[i] = s.Secrets()[0]
			if err := s.AddKey(t.Context(), key(i), nil); err != nil {
				t.Errorf("AddKey: %v", err)
			}
		})
	}
	wg.Wait()
	for _, s := range secrets {
		if !bytes.Equal(s, secrets[0]) {
			t.Errorf("secrets %q and %q of one store, want one", s, secrets[0])
		}
	}
	same(t, "keys", len(allKeys(t, place.open(t, ""))), many)
}

func stampsEnvironment(t *testing.T, place Place) {
	place.open(t, catalogue.Sandbox, secret('a'))
	place.fails(t, "belongs to the sandbox environment", catalogue.Production, secret('a'))
	place.open(t, catalogue.Sandbox, secret('a'))
	place.open(t, "", secret('a'))
}

func stampsNothing(t *testing.T, place Place) {
	place.open(t, "", secret('a'))
	place.open(t, catalogue.Production, secret('a'))
	place.fails(t, "belongs to the production environment", catalogue.Sandbox, secret('a'))
}

func unknownEnvironment(t *testing.T, place Place) {
	place.fails(t, "not an environment", "test", secret('a'))
}

func anotherSecret(t *testing.T, place Place) {
	configure(t, place.open(t, "", secret('a')), configuration("KOWHAI"))
	place.fails(t, anotherSecretSays, "", secret('b'))
	place.fails(t, anotherSecretSays, "", secret('b'), secret('c'))
	place.fails(t, "was given", "")
	decrypts(t, place.open(t, "", secret('a')))
}

func shortSecret(t *testing.T, place Place) {
	place.fails(t, "at least 32", "", []byte("short"))
}

func secondSecret(t *testing.T, place Place) {
	configure(t, place.open(t, "", secret('a')), configuration("KOWHAI"))
	decrypts(t, place.open(t, "", secret('a'), secret('b')))
	place.fails(t, anotherSecretSays, "", secret('b'))
}

func rotatesSecret(t *testing.T, place Place) {
	configure(t, place.open(t, "", secret('a')), configuration("KOWHAI"), legacy("TUI"))
	decrypts(t, place.open(t, "", secret('b'), secret('a')))
	decrypts(t, place.open(t, "", secret('b')))
	place.fails(t, anotherSecretSays, "", secret('a'))
}

func ownSecret(t *testing.T, place Place) {
	first := place.open(t, catalogue.Sandbox)
	configure(t, first, configuration("KOWHAI"))
	own := first.Secrets()
	if len(own) != 1 || len(own[0]) != 64 {
		t.Errorf("Secrets = %q, want one of 64 digits", own)
	}
	decrypts(t, place.open(t, ""))
	decrypts(t, place.open(t, "", own...))
	place.fails(t, anotherSecretSays, "", secret('a'))
	decrypts(t, place.open(t, "", secret('a'), own[0]))
	place.fails(t, anotherSecretSays, "", own...)
}

func productionNeedsSecret(t *testing.T, place Place) {
	place.fails(t, "production needs the operator's secret", catalogue.Production)
	place.open(t, catalogue.Production, secret('a'))
	place.fails(t, "production needs the operator's secret", "")
}
