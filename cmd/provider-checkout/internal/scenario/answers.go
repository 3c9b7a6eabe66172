package scenario

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
)

// maxBody is the length of the longest request, in bytes, in which an order id is looked for.
const maxBody = 64 << 10

// Answers decorates the handler of the API. The answer to the first create and to the first confirm of an order with AnswerLost is
// lost: the connection closes after the commit.
func Answers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		asked, read := &request{ReadCloser: r.Body}, *r // a copy: the server has to know its own body
		read.Body = asked
		asked.read.Grow(int(max(0, min(r.ContentLength, maxBody))))
		a := &answer{ResponseWriter: w, to: asked}
		next.ServeHTTP(a, &read)
		if a.held == nil {
			return
		}
		if a.changed() {
			panic(http.ErrAbortHandler) // closes the connection
		}
		w.WriteHeader(a.status)
		_, _ = w.Write(a.held.Bytes())
	})
}

// request is the body of a request. It keeps what the handler reads of it: the handler may refuse the request unread.
type request struct {
	io.ReadCloser
	read bytes.Buffer
}

func (r *request) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.read.Write(p[:min(n, maxBody-r.read.Len())])
	return n, err
}

// scenario returns the scenario of the order that the body names.
func (r *request) scenario() Scenario {
	var body createWire
	// A scenario begins with a plus sign, perhaps an escaped one. Most bodies have neither, and need not be decoded.
	if !bytes.ContainsAny(r.read.Bytes(), `+\`) || json.Unmarshal(r.read.Bytes(), &body) != nil {
		return ""
	}
	return Of(body.Provider.OrderID)
}

// answer is the answer to a request. That to an order with AnswerLost is held back.
type answer struct {
	http.ResponseWriter
	to     *request
	status int           // 0 before it is known
	held   *bytes.Buffer // nil if it goes out as it is written
}

func (a *answer) WriteHeader(status int) {
	a.status = status
	if a.to.scenario() == AnswerLost {
		a.held = &bytes.Buffer{}
		return
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(data []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.held != nil {
		return a.held.Write(data)
	}
	return a.ResponseWriter.Write(data)
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// changed reports whether the answer is that of a first create or of a first confirm.
func (a *answer) changed() bool {
	var body answerWire
	return a.status == http.StatusCreated ||
		json.Unmarshal(a.held.Bytes(), &body) == nil && body.AlreadyConfirmed != nil && !*body.AlreadyConfirmed
}
