package salesforce

import (
	"context"
	"io"
	"net/http"
	"time"
)

// inTime returns an error if a context has ended, or its deadline has passed: in a process that was stopped for a while the
// timer that ends the context may not have fired yet, and who had to write by then no longer may. The clock that contexts
// go by stands still while the machine is asleep, so the time of day is asked too.
func inTime(ctx context.Context) error {
	deadline, ok := ctx.Deadline()
	if now := time.Now(); ok && ctx.Err() == nil && (!now.Before(deadline) || !now.Round(0).Before(deadline.Round(0))) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// guard has the body of a request fail where it would be sent too late, after a connection was waited for. A server does
// nothing with a request whose body did not come.
func guard(ctx context.Context, req *http.Request) {
	if req.GetBody == nil || req.Body == http.NoBody {
		return
	}
	plain := req.GetBody
	req.GetBody = func() (io.ReadCloser, error) {
		body, err := plain()
		return guardedBody{ctx, body}, err
	}
	req.Body = guardedBody{ctx, req.Body}
}

type guardedBody struct {
	ctx context.Context
	io.ReadCloser
}

func (b guardedBody) Read(p []byte) (int, error) {
	if err := inTime(b.ctx); err != nil {
		return 0, err
	}
	return b.ReadCloser.Read(p)
}
