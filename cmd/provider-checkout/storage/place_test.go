package storage_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// fault takes the store's file away, and returns what brings it back.
type fault func(t *testing.T, path string, round int) (back func())

// moved moves the file away, with its log and without, and back.
func (b suite) moved(t *testing.T) {
	b.away(t, func(t *testing.T, path string, round int) (back func()) {
		suffixes := [][]string{{""}, {"-wal"}, {"-shm"}, {"", "-wal", "-shm"}}[round%4]
		for _, s := range suffixes {
			do(t, os.Rename(path+s, path+".away"+s))
		}
		return func() {
			for _, s := range suffixes {
				do(t, os.Rename(path+".away"+s, path+s))
			}
		}
	})
}

// deleted deletes the file. Another name of it brings it back.
func (b suite) deleted(t *testing.T) {
	b.away(t, func(t *testing.T, path string, _ int) (back func()) {
		do(t, os.Link(path, path+".kept"))
		do(t, os.Remove(path))
		return func() { do(t, os.Rename(path+".kept", path)) }
	})
}

// replaced puts a backup in the place of the file, as an operator may who has not stopped the server.
func (b suite) replaced(t *testing.T) {
	b.away(t, func(t *testing.T, path string, round int) (back func()) {
		out := filepath.Join(t.TempDir(), fmt.Sprintf("backup-%d.db", round))
		b.Run(t, "backup", "--store", "sqlite:"+path, "--out", out)
		do(t, os.Link(path, path+".kept"))
		do(t, os.Rename(out, path))
		return func() { do(t, os.Rename(path+".kept", path)) }
	})
}

// away takes the file away under load, round after round, and brings it back.
func (b suite) away(t *testing.T, take fault) {
	w := b.serveIn(t, t.TempDir())
	w.ready(t, true)
	w.begin(t, 20*time.Millisecond)
	var slowest time.Duration
	n := rounds(t, 2)
	for round := range n {
		w.await(t, 20)
		back := take(t, w.path, round)
		gone := time.Now()
		w.refusing(t)
		w.ready(t, false)
		w.polls(t)
		<-time.After(held)
		w.noneSince(t, gone, time.Now())
		back()
		slowest = max(slowest, w.ready(t, true))
	}
	w.await(t, 20)
	w.end(t)
	acknowledged, refused := w.count()
	t.Logf("%d times: %d requests were acknowledged and %d refused; the server was ready %v after the file was back at the latest", n, acknowledged, refused, slowest)
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// onAFullDisk fills the disk under load, and frees it again.
func (b suite) onAFullDisk(t *testing.T) {
	n, acknowledged, refused, slowest := rounds(t, 2), 0, 0, time.Duration(0)
	for range n {
		folder := t.TempDir()
		if err := mount(folder, "6m"); err != nil {
			if os.Getenv("PROVIDER_CHECKOUT_TEST_TMPFS_REQUIRED") != "" {
				t.Fatalf("PROVIDER_CHECKOUT_TEST_TMPFS_REQUIRED is set, but no disk can be mounted: %v", err)
			}
			t.Skipf("no disk can be mounted: %v", err)
		}
		t.Cleanup(func() {
			if err := unmount(folder); err != nil {
				t.Error(err)
			}
		})
		a, r, took := b.fill(t, folder)
		acknowledged, refused, slowest = acknowledged+a, refused+r, max(slowest, took)
	}
	t.Logf("%d times: %d requests were acknowledged and %d refused; the server was ready %v after the disk was freed at the latest", n, acknowledged, refused, slowest)
}

func (b suite) fill(t *testing.T, folder string) (acknowledged, refused int, took time.Duration) {
	w := b.serveIn(t, folder)
	w.ready(t, true)
	ballast := filepath.Join(folder, "ballast")
	fillUp(t, ballast, 100<<10) // too little for the next confirms, before any has failed
	w.ready(t, false)
	do(t, os.Truncate(ballast, 0))
	fillUp(t, ballast, 512<<10)
	w.ready(t, true)
	w.begin(t, 300*time.Millisecond) // 6 MB must hold the log of the whole round, 20 KB a create
	w.refusing(t)
	w.ready(t, false)
	w.polls(t)
	<-time.After(held)
	w.refusing(t)
	w.ready(t, false)
	do(t, os.Remove(ballast))
	took = w.ready(t, true)
	w.await(t, 10)
	w.end(t)
	acknowledged, refused = w.count()
	return acknowledged, refused, took
}

// fillUp fills the disk of a file, but for some bytes.
func fillUp(t *testing.T, path string, left int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	do(t, err)
	size := int64(0)
	for err == nil {
		var n int
		n, err = f.Write(make([]byte, 4096))
		size += int64(n)
	}
	do(t, errors.Join(f.Truncate(size-left), f.Close()))
}
