package httpserver

import (
	"net"
	"os"
	"syscall"
)

// acceptBacklog accepts every connection in the listener's backlog, and makes the kernel refuse new ones
// from then on.
func acceptBacklog(ln net.Listener) (backlog []net.Conn) {
	tcp, ok := ln.(*net.TCPListener)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	var fds []int
	_ = raw.Control(func(fd uintptr) { // fails if the listener is already closed
		fds = acceptAll(int(fd))
		// Close would first wait until Accept has returned; no connection may be established in between.
		_ = syscall.Shutdown(int(fd), syscall.SHUT_RD)
	})
	for _, fd := range fds {
		f := os.NewFile(uintptr(fd), "connection")
		if conn, err := net.FileConn(f); err == nil {
			backlog = append(backlog, conn)
		}
		_ = f.Close() // conn has a copy
	}
	return backlog
}

func acceptAll(listener int) (fds []int) {
	for {
		fd, _, err := syscall.Accept4(listener, syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK)
		switch err {
		case nil:
			fds = append(fds, fd)
		case syscall.EINTR, syscall.ECONNABORTED:
		default: // EAGAIN: the backlog is empty
			return fds
		}
	}
}
