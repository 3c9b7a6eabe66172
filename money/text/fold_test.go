package text_test

import (
	"testing"

	"github.com/provider-checkout/provider-checkout/money/text"
)

func TestFoldNameLeavesOutWhatASearcherMayLeaveOut(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"Tūhoe", "tuhoe"},
		{"TU\u0304HOE", "tuhoe"},
		{"  Māia  Tūhoe-Wāhanga ", "maia tuhoe wahanga"},
		{"O’Neill", "oneill"},
		{"O'NEILL", "oneill"},
		{"Weiß Łukasz Søren Æsop Đinh", "weiss lukasz soren aesop dinh"},
		{"İnci Işık", "inci isik"},
		{"ﬁona", "fiona"},
		{"王小明", "王小明"},
		{"100% _x_", "100 x"},
		{"-", ""},
		{"", ""},
	} {
		if got := text.FoldName(tt.name); got != tt.want {
			t.Errorf("FoldName(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestFoldEmailKeepsEverySign(t *testing.T) {
	for _, tt := range []struct{ address, want string }{
		{" Māia.Tuhoe+x_%@Students.Example.AC.NZ ", "maia.tuhoe+x_%@students.example.ac.nz"},
		{"o'neill@example.nz", "o'neill@example.nz"},
	} {
		if got := text.FoldEmail(tt.address); got != tt.want {
			t.Errorf("FoldEmail(%q) = %q, want %q", tt.address, got, tt.want)
		}
	}
}
