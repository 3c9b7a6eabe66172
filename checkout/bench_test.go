package checkout_test

import (
	"testing"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// What the rules take of a request. All of it is a small part of what HTTP and the store take.

func BenchmarkCreateCheck(b *testing.B) {
	cmd := parseCreate(b, legacyBody)
	b.ReportAllocs()
	for b.Loop() {
		if err := cmd.Check(catalogue.Legacy); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecideCreate(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := resolve(weekly, &nzdip); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	cmd, o := parseCreate(b, legacyBody), opening(b)
	intent := intentOf(b, cmd)
	b.ReportAllocs()
	for b.Loop() {
		opened(cmd, intent, o)
	}
}

func BenchmarkCompare(b *testing.B) {
	stored := intentOf(b, parseCreate(b, legacyBody))
	other := stored
	other.Plan.Regular++
	for _, tt := range []struct {
		name string
		want checkout.Intent
	}{{"the same intent", stored}, {"another instalment", other}} {
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				checkout.Compare(stored, tt.want)
			}
		})
	}
}

func BenchmarkConfirmMatch(b *testing.B) {
	c, cmd := ready(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := cmd.Match(c, latest); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTokenText(b *testing.B) {
	ring := keyring(b)
	token := ring.Issue(1, noon)
	b.ReportAllocs()
	for b.Loop() {
		ring.Text("KOWHAI-1795193042455-qr7ac36qzgiweibb", token)
	}
}

func BenchmarkTokenRead(b *testing.B) {
	ring := keyring(b)
	text, _ := ring.Text("KOWHAI-1795193042455-qr7ac36qzgiweibb", ring.Issue(1, noon))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, ok := ring.Read(text); !ok {
			b.Fatal("the token is not read")
		}
	}
}
