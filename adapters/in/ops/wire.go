package ops

import "github.com/provider-checkout/provider-checkout/checkout/service"

type aliveWire struct {
	Alive bool `json:"alive"`
}

type readyWire struct {
	Ready  bool       `json:"ready"` // every check holds, but for that of the CRM
	Checks checksWire `json:"checks"`
}

type checksWire struct {
	Serving   bool `json:"serving"`   // it is not shutting down
	Store     bool `json:"store"`     // it takes writes and its schema is current; the embedded CRM is part of it
	Processor bool `json:"processor"` // it can be reached
	CRM       bool `json:"crm"`       // it can be reached, or is the store; the handler stays ready without it
}

func toReadyWire(serving bool, h service.Health) readyWire {
	return readyWire{
		Ready:  serving && h.Serving(),
		Checks: checksWire{Serving: serving, Store: h.Store == nil, Processor: h.Processor == nil, CRM: h.CRM == nil},
	}
}
