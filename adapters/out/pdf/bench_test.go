package pdf_test

import (
	"context"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/out/pdf"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

func BenchmarkPrint(b *testing.B) {
	tests := []struct {
		name        string
		instalments int
		given       string
	}{
		{"instalments=4", 4, "Māia"},
		{"instalments=52", 52, "Māia"},
		{"instalments=600", money.MaxInstalments, "Māia"},
		{"instalments=4/script=Vietnamese", 4, "Nguyễn"},
		{"instalments=4/script=Chinese", 4, "李小龙"},
		{"instalments=4/script=Arabic", 4, "محمد"},
	}
	for _, tt := range tests {
		b.Run(tt.name, func(b *testing.B) {
			p, a := printer(b), sample.Agreement(tt.instalments)
			a.Student.FirstName = tt.given
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Print(context.Background(), a); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := pdf.New(1, signer(b)); err != nil {
			b.Fatal(err)
		}
	}
}
