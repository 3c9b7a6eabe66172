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
		{"the store's own secret is used again, and may be given", ownSecret},
		{"what one process stored, another reads at once", readAfterWrite},
		{"of inserts in two processes that make each other duplicates one succeeds", inTwo(concurrentInserts)},
		{"no update of two processes is lost", inTwo(concurrentUpdates)},
		{"a job is leased to one of two processes, and fences the other off", inTwo(concurrentLeases)},
		{"a job that one process enters, leases or settles, another knows at once", jobsAcross},
		{"of two processes that enter the same jobs one gets each", inTwo(jobsEnterConcurrently)},
		{"of events of two processes that both read the list each is read once, in one order", inTwo(eventsMeanwhile)},
		{"moments of two processes are all on record", inTwo(concurrentMoments)},
	} {
		t.Run(promise.name, func(t *testing.T) { promise.check(t, newPlace(t)) })
	}
	for name, attempts := range admissions() {
		t.Run(name, func(t *testing.T) { admits(t, newPlace(t), attempts) })
	}
}

// attempt opens a store: for an environment, with the secrets whose letters it names. says is part of the error of an attempt
// that is refused, and "" for the others.
type attempt struct {
	env     catalogue.Environment
	secrets string
	says    string
}

// admissions are attempts at a new store in their order, by the promise that they test.
func admissions() map[string][]attempt {
	const needed = "production needs the operator's secret"
	return map[string][]attempt{
		"a server stamps a new store, and one of the other environment is refused": {{catalogue.Sandbox, "a", ""},
			{catalogue.Production, "a", "belongs to the sandbox environment"}, {catalogue.Sandbox, "a", ""}, {"", "a", ""}},
		"an operator's command stamps nothing": {{"", "a", ""}, {catalogue.Production, "a", ""},
			{catalogue.Sandbox, "a", "belongs to the production environment"}},
		"an unknown environment is refused": {{"test", "a", "not an environment"}},
		"another secret is refused": {{"", "a", ""}, {"", "b", anotherSecretSays}, {"", "bc", anotherSecretSays},
			{"", "", "was given"}, {"", "a", ""}},
		"a secret that is too short is refused": {{"", "-", "at least 32"}},
		"a second secret changes nothing":       {{"", "a", ""}, {"", "ab", ""}, {"", "b", anotherSecretSays}},
		"a new first secret takes over, and then the old one is neither needed nor enough": {{"", "a", ""}, {"", "ba", ""}, {"", "b", ""},
			{"", "a", anotherSecretSays}},
		"production needs a given secret": {{catalogue.Production, "", needed}, {catalogue.Production, "a", ""}, {"", "", needed}},
	}
}

// admits makes the attempts. What the first of them stores the later ones decrypt.
func admits(t *testing.T, place Place, attempts []attempt) {
	stored := false
	for _, a := range attempts {
		var secrets [][]byte
		for _, letter := range a.secrets {
			secrets = append(secrets, secret(byte(letter)))
		}
		if a.says != "" {
			place.fails(t, a.says, a.env, secrets...)
			continue
		}
		s := place.open(t, a.env, secrets...)
		if !stored {
			configure(t, s, configuration("KOWHAI"), legacy("TUI"))
		}
		stored = true
		decrypts(t, s)
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

// secret returns the secret of a letter; that of '-' is too short.
func secret(letter byte) []byte {
	if letter == '-' {
		return []byte("short")
	}
	return bytes.Repeat([]byte{letter}, 32)
}

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
	want, list := export(t, first), jobs(t, first, checkout.JobFilter{})
	must(t, "Close", first.Close())
	again := place.open(t, "")
	same(t, "record", export(t, again), want)
	same(t, "jobs", jobs(t, again, checkout.JobFilter{}), list)
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
