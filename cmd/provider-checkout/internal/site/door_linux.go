package site

import (
	"net"
	"os"
	"syscall"
)

// acceptWaiting accepts every connection that waits at the listener, and has the kernel refuse others
// from then on.
func acceptWaiting(ln net.Listener) (waiting []net.Conn) {
	tcp, ok := ln.(*net.TCPListener)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	var fds []int
	_ = raw.Control(func(fd uintptr) { // it fails where the listener is closed already
		fds = acceptAll(int(fd))
		// Close would have to wait until Accept has woken up; nobody may come in between.
		_ = syscall.Shutdown(int(fd), syscall.SHUT_RD)
	})
	for _, fd := range fds {
		f := os.NewFile(uintptr(fd), "connection")
		if conn, err := net.FileConn(f); err == nil {
			waiting = append(waiting, conn)
		}
		_ = f.Close() // conn has a copy
	}
	return waiting
}

func acceptAll(listener int) (fds []int) {
	for {
		fd, _, err := syscall.Accept4(listener, syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK)
		switch err {
		case nil:
			fds = append(fds, fd)
		case syscall.EINTR, syscall.ECONNABORTED:
		default: // EAGAIN: nobody waits
			return fds
		}
	}
}
