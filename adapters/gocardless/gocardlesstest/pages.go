package gocardlesstest

import "net/http"

type pages struct{ http.Handler }

func newPages(*Simulator) pages { return pages{http.NotFoundHandler()} }
