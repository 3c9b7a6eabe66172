package privatefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func names(t *testing.T, folder string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestAFileHasItsNameOnceItIsPublished(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "file")
	f, err := New(folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("text"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file has its name before it is complete")
	}
	if err := errors.Join(f.Publish(path), f.Close()); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 || info.Size() != 4 {
		t.Errorf("the file is %v, %v", info, err)
	}
	if left := names(t, folder); len(left) != 1 {
		t.Errorf("the folder has %q, want the file alone", left)
	}
}

func TestATakenNameStaysAsItIs(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "file")
	if err := Write(path, []byte("first")); err != nil {
		t.Fatal(err)
	}
	f, err := New(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Publish(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Publish under a name that is taken: %v, want ErrExist", err)
	}
	f.Close()
	if err := Write(path, []byte("second")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Write to a name that is taken: %v, want ErrExist", err)
	}
	if text, err := os.ReadFile(path); string(text) != "first" || len(names(t, folder)) != 1 {
		t.Errorf("the file has %q, %v; the folder %q", text, err, names(t, folder))
	}
}

func TestReplace(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "file")
	for _, text := range []string{"first", "second"} {
		if err := Replace(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); string(got) != text || len(names(t, folder)) != 1 {
			t.Errorf("the file has %q, %v; the folder %q", got, err, names(t, folder))
		}
	}
	if err := Replace(folder, nil); err == nil || err.Error() != folder+" is not a regular file" {
		t.Errorf("Replace of a folder: %v", err)
	}
	if err := Replace(filepath.Join(folder, "none", "file"), nil); err == nil ||
		err.Error() != "write "+filepath.Join(folder, "none", "file")+": no such file or directory" {
		t.Errorf("Replace in no folder: %v", err)
	}
}

// A temporary name that a process has left which was killed goes with the next file in its folder, and that of a process at work stays.
func TestAbandonedNamesAreRemoved(t *testing.T) {
	folder := t.TempDir()
	for name, age := range map[string]time.Duration{".1.partial": 2 * time.Hour, ".1.partial-journal": 2 * time.Hour, ".2.partial": 0, "backup.db": 2 * time.Hour} {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, time.Time{}, time.Now().Add(-age))); err != nil {
			t.Fatal(err)
		}
	}
	if err := Replace(filepath.Join(folder, "backup.db"), nil); err != nil {
		t.Fatal(err)
	}
	if left := names(t, folder); len(left) != 2 || left[0] != ".2.partial" || left[1] != "backup.db" {
		t.Errorf("%q are left", left)
	}
}
