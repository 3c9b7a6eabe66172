package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestTheDocumentationIsThatOfTheDescription(t *testing.T) {
	const folder = "../.."
	files, err := render(folder)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(folder, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what openapi.json and quickstart.md give, %v: run go generate ./adapters/in/httpapi", name, err)
		}
	}
}
