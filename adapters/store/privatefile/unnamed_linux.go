package privatefile

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// descriptors is the folder with a link for each open file of the process.
const descriptors = "/proc/self/fd/"

// unnamed makes a file without a name in a folder whose file system has such files.
func unnamed(folder string) (*os.File, error) {
	if _, err := os.Stat(descriptors); err != nil { // it could not be linked
		return nil, err
	}
	return os.OpenFile(folder, unix.O_TMPFILE|os.O_RDWR, 0o600)
}

// linkUnnamed gives a file without a name its name.
func linkUnnamed(f *os.File, name string) error {
	from := descriptors + strconv.Itoa(int(f.Fd()))
	if err := unix.Linkat(unix.AT_FDCWD, from, unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW); err != nil {
		return &os.LinkError{Op: "link", Old: from, New: name, Err: err}
	}
	return nil
}
