package main

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// entry is a file of an archive.
type entry struct {
	name    string
	mode    int64
	content []byte
}

// beside are the files of the source that go with the program, in the folder of packaging.
func beside() []string {
	return []string{"CHANGELOG.md", "UPGRADING.md", "alerts.yaml", "board.json", "provider-checkout.service"}
}

// fromSource returns the files that go with the program.
func fromSource(source string) (entries []entry, err error) {
	for _, name := range beside() {
		content, err := os.ReadFile(filepath.Join(source, "cmd", "provider-checkout", "packaging", name))
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{name, 0o644, content})
	}
	return entries, nil
}

// fromProgram returns the completions of the shells and the manual pages, which a program of this system prints.
func fromProgram(ctx context.Context, program string) (entries []entry, err error) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		text, err := exec.CommandContext(ctx, program, "completion", shell).Output()
		if err != nil {
			return nil, fmt.Errorf("print the completion of %s: %w", shell, err)
		}
		entries = append(entries, entry{"completion/provider-checkout." + shell, 0o644, text})
	}
	folder, err := os.MkdirTemp("", "man-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	if err := exec.CommandContext(ctx, program, "man", "--out", folder).Run(); err != nil {
		return nil, fmt.Errorf("write the manual pages: %w", err)
	}
	pages, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(folder, page.Name()))
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{"man/man1/" + page.Name(), 0o644, text})
	}
	return entries, nil
}

// pack writes an archive of the files in a folder of its own. The same files give the same bytes.
func pack(w io.Writer, folder string, entries []entry, at time.Time) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	entries = slices.SortedFunc(slices.Values(entries), func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	for _, e := range entries {
		header := tar.Header{Typeflag: tar.TypeReg, Name: path.Join(folder, e.name), Mode: e.mode, Size: int64(len(e.content)),
			ModTime: at.UTC(), Uname: "root", Gname: "root", Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(&header); err != nil {
			return err
		}
		if _, err := archive.Write(e.content); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), compressed.Close())
}
