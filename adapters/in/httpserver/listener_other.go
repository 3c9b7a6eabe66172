//go:build !linux

package httpserver

import "net"

// acceptBacklog accepts nothing: only Linux lets a program look into a listener's backlog without waiting.
func acceptBacklog(net.Listener) []net.Conn { return nil }
