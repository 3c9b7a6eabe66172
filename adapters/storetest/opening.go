package storetest

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Opened is a store that outlives the process, opened. Secrets are the operator's that are in force, or its own.
type Opened interface {
	ports.Store
	Secrets() [][]byte
	Close() error
}

// Place is where one store is, which is made when it is first opened: for an environment, or for none as an
// operator's command opens it, and with the operator's secrets, or with its own if none are given.
type Place func(env catalogue.Environment, secrets ...[]byte) (Opened, error)

// Opening holds a store that outlives the process to what it promises to those who open it. fresh
// returns a place where nothing is yet.
func Opening(t *testing.T, fresh func(t *testing.T) Place) {
	for _, promise := range []struct {
		name string
		test func(t *testing.T, place Place)
	}{
		{"what was stored is there when it is opened again", opensAgain},
		{"many may open a new store at once", openTogether},
		{"a server stamps a new store, and one of the other environment is refused", stampsEnvironment},
		{"an operator's command stamps nothing", stampsNothing},
		{"an unknown environment is refused", unknownEnvironment},
		{"another secret is refused", anotherSecret},
		{"a secret that is too short is refused", shortSecret},
		{"a second secret changes nothing", secondSecret},
		{"a new first secret takes over, and then the old one is not needed any more, nor enough", rotates},
		{"a secret of its own is used again, and may be given", ownSecret},
		{"production needs a given secret", productionNeedsASecret},
	} {
		t.Run(promise.name, func(t *testing.T) { promise.test(t, fresh(t)) })
	}
}

// open opens the store until the test ends.
func (p Place) open(t *testing.T, env catalogue.Environment, secrets ...[]byte) Opened {
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

// sees reports unless the store has the configuration, signing secret included.
func sees(t *testing.T, s ports.Store) {
	t.Helper()
	p, err := s.Provider(t.Context(), "KOWHAI")
	must(t, "Provider", err)
	same(t, "provider", p, configuration("KOWHAI").Provider)
}

func opensAgain(t *testing.T, place Place) {
	first := place.open(t, "")
	insert(t, first, opened(1))
	n, err := first.DrawNumber(t.Context())
	must(t, "DrawNumber", err)
	same(t, "the first number", n, int64(1))
	again := place.open(t, "")
	c, err := again.Checkout(t.Context(), opened(1).Next.ID)
	must(t, "Checkout", err)
	same(t, "checkout", c, opened(1).Next)
	n, err = again.DrawNumber(t.Context())
	must(t, "DrawNumber", err)
	same(t, "the second number", n, int64(2))
}

func openTogether(t *testing.T, place Place) {
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
			if _, err := s.DrawNumber(context.Background()); err != nil {
				t.Errorf("DrawNumber: %v", err)
			}
		})
	}
	wg.Wait()
	for _, s := range secrets {
		if !bytes.Equal(s, secrets[0]) {
			t.Errorf("secrets %q and %q of one store, want one", s, secrets[0])
		}
	}
	n, err := place.open(t, "").DrawNumber(t.Context())
	must(t, "DrawNumber", err)
	same(t, "the next number", n, int64(many+1))
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
	place.fails(t, "not the one that seals it", "", secret('b'))
	place.fails(t, "not the one that seals it", "", secret('b'), secret('c'))
	place.fails(t, "was given", "")
	sees(t, place.open(t, "", secret('a')))
}

func shortSecret(t *testing.T, place Place) {
	place.fails(t, "at least 32", "", []byte("short"))
}

func secondSecret(t *testing.T, place Place) {
	configure(t, place.open(t, "", secret('a')), configuration("KOWHAI"))
	sees(t, place.open(t, "", secret('a'), secret('b')))
	place.fails(t, "not the one that seals it", "", secret('b'))
}

func rotates(t *testing.T, place Place) {
	configure(t, place.open(t, "", secret('a')), configuration("KOWHAI"), legacy("TUI"))
	sees(t, place.open(t, "", secret('b'), secret('a')))
	sees(t, place.open(t, "", secret('b')))
	place.fails(t, "not the one that seals it", "", secret('a'))
}

func ownSecret(t *testing.T, place Place) {
	first := place.open(t, catalogue.Sandbox)
	configure(t, first, configuration("KOWHAI"))
	own := first.Secrets()
	if len(own) != 1 || len(own[0]) != 64 {
		t.Errorf("Secrets = %q, want one of 64 digits", own)
	}
	sees(t, place.open(t, ""))
	sees(t, place.open(t, "", own...))
	place.fails(t, "not the one that seals it", "", secret('a'))
	sees(t, place.open(t, "", secret('a'), own[0]))
	place.fails(t, "not the one that seals it", "", own...)
}

func productionNeedsASecret(t *testing.T, place Place) {
	place.fails(t, "production needs the operator's secret", catalogue.Production)
	place.open(t, catalogue.Production, secret('a'))
	place.fails(t, "production needs the operator's secret", "")
}
