package gocardlesstest

import "net/http"

func (s *Simulator) serveControl(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }
