package web_test

import (
	"html/template"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
)

func TestContact(t *testing.T) {
	for contact, want := range map[string]template.HTML{
		"help@putea.example":         `<a href="mailto:help@putea.example">help@putea.example</a>`,
		"a&b?c@putea.example":        `<a href="mailto:a&amp;b%3Fc@putea.example">a&amp;b?c@putea.example</a>`,
		"https://putea.example/?a&b": `<a href="https://putea.example/?a&amp;b" target="_blank" rel="noopener">https://putea.example/?a&amp;b</a>`,
		"0800 788 322":               "0800 788 322",
		"javascript:alert(1)":        "javascript:alert(1)",
		"http://putea.example <b>":   "http://putea.example &lt;b&gt;",
	} {
		if got := web.Contact(contact); got != want {
			t.Errorf("Contact(%q) = %s, want %s", contact, got, want)
		}
	}
}

func TestIsolateMarksNamesAndEscapesAll(t *testing.T) {
	for _, tt := range []struct {
		text  string
		names []string
		want  template.HTML
	}{
		{"", nil, ""},
		{"a < b", nil, "a &lt; b"},
		{"a < b", []string{""}, "a &lt; b"},
		{"on behalf of רימון, by mail", []string{"רימון"}, `on behalf of <bdi translate="no">רימון</bdi>, by mail`},
		{"Rimu & Rimu & Sons", []string{"Rimu", "Rimu & Sons"}, "<bdi translate=\"no\">Rimu</bdi> &amp; <bdi translate=\"no\">Rimu &amp; Sons</bdi>"},
		{"it's <amp>", []string{"<amp>", "39", "amp"}, "it&#39;s <bdi translate=\"no\">&lt;amp&gt;</bdi>"},
		{"of <script>, </bdi>", []string{"<script>"}, "of <bdi translate=\"no\">&lt;script&gt;</bdi>, &lt;/bdi&gt;"},
	} {
		if got := web.Isolate(tt.text, tt.names...); got != tt.want {
			t.Errorf("Isolate(%q, %q) = %q, want %q", tt.text, tt.names, got, tt.want)
		}
	}
}
