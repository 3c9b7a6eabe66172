package ops

import "github.com/provider-checkout/provider-checkout/checkout/service"

type aliveWire struct {
	Alive bool `json:"alive"`
}

type readyWire struct {
	Ready  bool       `json:"ready"` // every check holds
	Checks checksWire `json:"checks"`
}

type checksWire struct {
	Serving   bool `json:"serving"`   // it is not shutting down
	Store     bool `json:"store"`     // it takes writes and its schema is current
	Processor bool `json:"processor"` // it can be reached
}

func toReadyWire(serving bool, h service.Health) readyWire {
	return readyWire{
		Ready:  serving && h.Serving(),
		Checks: checksWire{Serving: serving, Store: h.Store == nil, Processor: h.Processor == nil},
	}
}
