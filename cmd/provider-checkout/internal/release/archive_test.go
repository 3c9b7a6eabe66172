package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"slices"
	"testing"
	"time"
)

func TestAnArchiveDependsOnItsFilesAlone(t *testing.T) {
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	entries := []entry{{"provider-checkout", 0o755, []byte("program")}, {"man/man1/a.1", 0o644, []byte("page")}}
	var one, another bytes.Buffer
	if err := pack(&one, "provider-checkout_v1", entries, at); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(entries)
	if err := pack(&another, "provider-checkout_v1", entries, at.In(time.FixedZone("", 13*3600))); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one.Bytes(), another.Bytes()) {
		t.Error("the same files in another order, at the same time elsewhere, give another archive")
	}
	compressed, err := gzip.NewReader(&one)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]int64{}
	for archive := tar.NewReader(compressed); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = h.Mode
		if h.Uid != 0 || !h.ModTime.Equal(at) {
			t.Errorf("%s is of user %d, from %v; want root's, from %v", h.Name, h.Uid, h.ModTime, at)
		}
	}
	if len(files) != 2 || files["provider-checkout_v1/provider-checkout"] != 0o755 || files["provider-checkout_v1/man/man1/a.1"] != 0o644 {
		t.Errorf("the archive holds %v", files)
	}
}

func TestWhatGoesWithTheProgramIsThere(t *testing.T) {
	entries, err := fromSource("../../../..")
	if err != nil || len(entries) != len(beside()) {
		t.Errorf("%d files, %v", len(entries), err)
	}
}
