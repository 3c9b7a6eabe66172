package site

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

func TestDoorLetsInWhoWaitsAndRefusesWhoComesLater(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := newDoor(ln)
	const waiting = 3
	for range waiting {
		conn, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	d.closeGently()
	for n := range waiting {
		conn, err := d.Accept()
		if err != nil {
			t.Fatalf("Accept of guest %d: %v", n+1, err)
		}
		defer conn.Close()
		if n, err := conn.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Errorf("Read = %d, %v; want what the guest sent", n, err)
		}
	}
	if conn, err := d.Accept(); err == nil {
		conn.Close()
		t.Error("Accept returns one guest too many")
	}
	if _, err := net.Dial("tcp", ln.Addr().String()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("Dial = %v, want ECONNREFUSED", err)
	}
}
