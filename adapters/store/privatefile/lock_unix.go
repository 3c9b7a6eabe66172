//go:build unix

package privatefile

import (
	"os"
	"syscall"
)

// Lock has no other process lock a file or a folder until this one closes it, or ends.
func Lock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
