package pdf_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/pdf"
	"github.com/provider-checkout/provider-checkout/money"
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
		{"instalments=4/face=whole", 4, "Nguyễn"},
	}
	for _, tt := range tests {
		b.Run(tt.name, func(b *testing.B) {
			p, a := printer(b), plan(tt.instalments)
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

// BenchmarkSubset compares the rendering of an agreement with the subsets of the fonts and without them, in turns. The
// confirm waits for its agreement: the ratio whole/subset is how much slower a payer's confirm would render without.
func BenchmarkSubset(b *testing.B) {
	p, a := printer(b), plan(52)
	var subset, whole time.Duration
	var subsetSize, wholeSize int
	for b.Loop() {
		begun := time.Now()
		one, err := p.Print(context.Background(), a)
		between := time.Now()
		other, failed := p.PrintWithoutSubsets(a)
		if err := errors.Join(err, failed); err != nil {
			b.Fatal(err)
		}
		subset, whole = subset+between.Sub(begun), whole+time.Since(between)
		subsetSize, wholeSize = len(one), len(other)
	}
	b.ReportMetric(0, "ns/op") // of both together
	b.ReportMetric(subset.Seconds()*1000/float64(b.N), "ms/subset")
	b.ReportMetric(whole.Seconds()*1000/float64(b.N), "ms/whole")
	b.ReportMetric(float64(whole)/float64(subset), "whole/subset")
	b.ReportMetric(float64(wholeSize)/float64(subsetSize), "bytes-whole/subset")
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := pdf.New(1); err != nil {
			b.Fatal(err)
		}
	}
}
