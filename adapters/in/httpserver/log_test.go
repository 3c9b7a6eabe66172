package httpserver_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpserver"
)

// reader is the reader of a log, who may be stuck or gone.
type reader struct {
	bytes.Buffer
	stuck chan struct{} // closed: it reads on; nil: it reads
	gone  bool
}

func (r *reader) Write(line []byte) (int, error) {
	if r.stuck != nil {
		<-r.stuck
	}
	if r.gone {
		return 0, errors.New("broken pipe")
	}
	return r.Buffer.Write(line)
}

// Nobody waits for the reader of the log, and each line is read or counted as lost.
func TestNobodyWaitsForTheReaderOfTheLog(t *testing.T) {
	const lines = 10_000
	for _, tt := range []struct {
		name   string
		reader *reader
	}{
		{"reads", &reader{}}, {"is stuck for a while", &reader{stuck: make(chan struct{})}}, {"is gone", &reader{gone: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log := httpserver.NewLines(tt.reader)
			for n := range lines {
				if _, err := fmt.Fprintf(log, "line %d\n", n); err != nil {
					t.Fatal(err)
				}
			}
			if tt.reader.stuck != nil {
				log.Flush(time.Millisecond) // which ends
				close(tt.reader.stuck)
			}
			log.Flush(time.Minute)
			read := strings.Count(tt.reader.String(), "\n")
			if read+int(log.Lost()) != lines || tt.reader.gone && read > 0 || tt.reader.stuck != nil && log.Lost() == 0 {
				t.Errorf("%d lines were read and %d lost of %d", read, log.Lost(), lines)
			}
		})
	}
}
