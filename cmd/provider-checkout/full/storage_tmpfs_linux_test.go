package full_test

import "syscall"

// mount gives a folder a file system of its own, in memory, of so many bytes.
func mount(folder, size string) error {
	return syscall.Mount("tmpfs", folder, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=700,size="+size)
}

func unmount(folder string) error { return syscall.Unmount(folder, 0) }
