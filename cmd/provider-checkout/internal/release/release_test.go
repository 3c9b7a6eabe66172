package main

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

const isc = `Copyright (c) 2019 A. Holder

Permission to use, copy, modify, and/or distribute this software for any purpose
is hereby granted.
`

// known holds the text of isc alone.
func known() table { return table{fingerprint([]byte(isc)): {"ISC"}} }

func TestLicenceIsKnownByItsWordsAlone(t *testing.T) {
	for _, same := range []string{
		strings.ReplaceAll(isc, "\n", "\r\n"),
		strings.Replace(isc, "2019 A. Holder", "2020 Somebody Else\nAll rights reserved.", 1),
		"// " + strings.Replace(isc, "purpose\nis", "purpose is", 1),
	} {
		if fingerprint([]byte(same)) != fingerprint([]byte(isc)) {
			t.Errorf("not known as the same licence: %q", same)
		}
	}
	for _, other := range []string{
		strings.Replace(isc, "any purpose", "any non-commercial purpose", 1),
		isc + "Except in New Zealand.\n",
		isc + "Copyright law of Utopia applies.\n",
	} {
		if fingerprint([]byte(other)) == fingerprint([]byte(isc)) {
			t.Errorf("taken for the same licence: %q", other)
		}
	}
}

func TestModuleIsRefusedUnlessAllItsLicencesAreKnown(t *testing.T) {
	for _, tt := range []struct {
		name   string
		files  map[string]string
		reason string // empty: it is taken
	}{
		{"known", map[string]string{"LICENSE": isc}, ""},
		{"by another name", map[string]string{"COPYING.md": isc}, ""},
		{"none", map[string]string{"README": isc, "license.go": isc}, "has no licence"},
		{"a notice is none", map[string]string{"NOTICE": isc}, "has no licence"},
		{"unknown", map[string]string{"LICENSE": isc + "Pay us."}, "is unknown"},
		{"a second, unknown", map[string]string{"LICENSE": isc, "LICENSE-THIRD-PARTY": "GPL"}, "is unknown"},
		{"a linked package's, unknown", map[string]string{"LICENSE": isc, "a/LICENSE.txt": "GPL"}, "is unknown"},
		{"of a package that is not linked", map[string]string{"LICENSE": isc, "tool/LICENSE": "GPL"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			for name, content := range tt.files {
				write := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(write), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(write, []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			linked := filepath.Join(root, "a", "b")
			if err := os.MkdirAll(linked, 0o755); err != nil {
				t.Fatal(err)
			}
			ids, texts, err := inspect("example.org/m@v1.0.0", root, []string{linked}, known())
			switch {
			case tt.reason == "" && (err != nil || !slices.Equal(ids, []string{"ISC"}) || len(texts) != 1):
				t.Errorf("got %v, %d texts, %v; want it taken, with its one text", ids, len(texts), err)
			case tt.reason != "" && (err == nil || !strings.Contains(err.Error(), tt.reason)):
				t.Errorf("got %v; want that it %s", err, tt.reason)
			}
		})
	}
}

func TestTableTakesAllowedLicencesOnly(t *testing.T) {
	if _, err := parseTable("00 MIT GPL-3.0-only\n"); err == nil || !strings.Contains(err.Error(), "GPL-3.0-only") {
		t.Errorf("got %v; want GPL-3.0-only refused", err)
	}
	if _, err := parseTable("00 # a text without an identifier\n"); err == nil {
		t.Error("a text without an identifier was taken")
	}
}

// A test cannot ask the program itself, which is not built: what `go list` finds stands in for it.
func TestEveryLinkedModuleHasAnAllowedLicence(t *testing.T) {
	for _, system := range []string{"linux/amd64", "linux/arm64", "darwin/arm64"} {
		t.Run(system, func(t *testing.T) { everyLinkedModuleHasAnAllowedLicence(t, system) })
	}
}

func everyLinkedModuleHasAnAllowedLicence(t *testing.T, system string) {
	goos, goarch, _ := strings.Cut(system, "/")
	info := &debug.BuildInfo{
		GoVersion: runtime.Version(),
		Path:      "github.com/provider-checkout/provider-checkout/cmd/provider-checkout",
		Main:      debug.Module{Path: "github.com/provider-checkout/provider-checkout", Version: "v0.0.0"},
		Settings:  []debug.BuildSetting{{Key: "GOOS", Value: goos}, {Key: "GOARCH", Value: goarch}, {Key: "CGO_ENABLED", Value: "0"}},
	}
	if _, err := os.ReadFile("../../../../go.mod"); err != nil { // on which the result depends: go test cannot see what go list reads
		t.Fatal(err)
	}
	packages, err := list(t.Context(), info)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		if !p.Standard && p.Module.Path != info.Main.Path &&
			!slices.ContainsFunc(info.Deps, func(m *debug.Module) bool { return m.Path == p.Module.Path }) {
			info.Deps = append(info.Deps, &debug.Module{Path: p.Module.Path, Version: p.Module.Version})
		}
	}
	table, err := parseTable(licences)
	if err != nil {
		t.Fatal(err)
	}
	modules, err := linked(info, packages, table)
	if err != nil {
		t.Fatal(err)
	}
	has := func(path string) bool {
		return slices.ContainsFunc(modules, func(m module) bool { return m.path == path })
	}
	for _, path := range []string{"modernc.org/sqlite", "github.com/jackc/pgx/v5", standard} {
		if !has(path) {
			t.Errorf("%s is linked, but not listed", path)
		}
	}
	for _, path := range []string{"pgregory.net/rapid", "github.com/chromedp/chromedp", "github.com/matryer/is"} {
		if has(path) {
			t.Errorf("%s is listed as linked, but only tests use it", path)
		}
	}

	info.Deps[0].Version = "v99.0.0"
	if _, err := linked(info, packages, table); err == nil {
		t.Error("a binary that holds another version than its source was taken")
	}
	info.Deps = info.Deps[1:]
	if _, err := linked(info, packages, table); err == nil {
		t.Error("a binary that holds fewer modules than its source was taken")
	}
}

func TestBillOfMaterialsNamesVersionsHashesLicencesAndImports(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.8", Path: "example.org/shop/cmd/shop", Main: debug.Module{Path: "example.org/shop", Version: "v1.2.3+incompatible"},
		Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "GOARCH", Value: "amd64"}, {Key: "CGO_ENABLED", Value: "0"}, {Key: "vcs.revision", Value: "c0ffee"}},
	}
	modules := []module{
		{path: "example.org/lib", version: "v0.1.0", sum: "h1:QDbeKauc3vR5/w9TwlhVYAQwK15cECL7sHkCUUT55ms=", licences: []string{"BSD-3-Clause", "MIT"}},
		{path: standard, version: "1.26.8", licences: []string{"BSD-3-Clause"}},
	}
	imports := map[string][]string{"example.org/shop": {"example.org/lib", standard}, "example.org/lib": {standard}}
	got, err := billOfMaterials(info, []byte("binary"), modules, imports)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/shop.cdx.json")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	modules[0].sum = ""
	if _, err := billOfMaterials(info, []byte("binary"), modules, imports); err == nil {
		t.Error("a module without a hash was taken")
	}
}

func TestFontsGoWithTheirLicences(t *testing.T) {
	known, err := parseTable(licences)
	if err != nil {
		t.Fatal(err)
	}
	ids, texts, err := inspect("fonts", filepath.Join("..", "..", "..", "..", "adapters", "internal", "fonts"), nil, known)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(ids, []string{"Apache-2.0", "OFL-1.1"}) || len(texts) != 3 {
		t.Errorf("the fonts have the licences %v in %d texts, want OFL, Apache and their notice", ids, len(texts))
	}
}
