package postgrestest

import (
	"io"
	"net"
	"sync"
)

// Link carries everything between a primary and its standby. It may be cut.
type Link struct {
	to   string
	port string
	ln   net.Listener

	mu    sync.Mutex
	state linkState
	open  map[net.Conn]bool
	mend  chan struct{} // closed when a link that holds everything back is mended
	busy  sync.WaitGroup
}

type linkState int

const (
	linked linkState = iota
	silent           // nothing passes, and neither side gets an error
	broken           // connections are reset, and new ones too
)

func newLink(to string) (*Link, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &Link{to: to, ln: ln, open: make(map[net.Conn]bool), mend: make(chan struct{})}
	if _, l.port, err = net.SplitHostPort(ln.Addr().String()); err != nil {
		return nil, err
	}
	l.busy.Go(l.serve)
	return l, nil
}

// Cut holds everything back, as a cable does that is pulled: neither end is told.
func (l *Link) Cut() { l.become(silent) }

// Reset resets every connection and refuses new ones.
func (l *Link) Reset() { l.become(broken) }

// Mend lets new connections pass. Older connections are reset: the bytes that they held back are lost.
func (l *Link) Mend() {
	l.become(broken)
	l.become(linked)
}

func (l *Link) become(s linkState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == silent && s != silent {
		close(l.mend)
		l.mend = make(chan struct{})
	}
	l.state = s
	if s == broken {
		for c := range l.open {
			reset(c)
		}
		clear(l.open)
	}
}

func reset(c net.Conn) {
	_ = c.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
}

// close ends the link.
func (l *Link) close() {
	_ = l.ln.Close()
	l.become(broken)
	l.busy.Wait()
}

func (l *Link) serve() {
	for {
		from, err := l.ln.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", l.to)
		if err != nil {
			reset(from)
			continue
		}
		if !l.keep(from, to) {
			reset(from)
			reset(to)
			continue
		}
		l.busy.Go(func() { l.carry(from, to) })
		l.busy.Go(func() { l.carry(to, from) })
	}
}

// keep records open connections, unless they are reset.
func (l *Link) keep(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		if l.state != broken {
			l.open[c] = true
		}
	}
	return l.state != broken
}

// carry carries what one end sends. While the link is silent it drops it, and waits.
func (l *Link) carry(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	_, _ = io.Copy(&end{l, to}, from)
}

// end is the receiving side of a link.
type end struct {
	link *Link
	to   net.Conn
}

// Write implements [io.Writer].
func (e *end) Write(text []byte) (int, error) {
	e.link.mu.Lock()
	silent, mend := e.link.state == silent, e.link.mend
	e.link.mu.Unlock()
	if silent {
		<-mend
		return 0, io.ErrClosedPipe
	}
	return e.to.Write(text)
}
