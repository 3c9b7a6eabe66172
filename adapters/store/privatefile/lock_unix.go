//go:build unix

package witness

import (
	"os"
	"syscall"
)

// lock has no other process lock a folder until this one ends.
func lock(folder *os.File) error {
	return syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
