// Package ports says what the core needs from outside. Each comment is a specification: an adapter that keeps it may
// replace any other. [Store] and the ports in processor.go and delivery.go are what a service needs; [Admin] is
// what the operator's commands need beside it; [CRM] is one outside of the store. Package adapters/kit/storetest tests a
// store against every promise, adapters/kit/processortest a processor, and adapters/kit/crmtest a CRM.
//
// All methods are safe for concurrent use and return early when ctx ends. Values that go in or come out share no
// memory with the adapter: either side may change its own afterwards.
package ports

import "errors"

var (
	// ErrNotFound: there is no such record.
	ErrNotFound = errors.New("not found")
	// ErrDuplicate: a unique name is taken; nothing was stored.
	ErrDuplicate = errors.New("already exists")
	// ErrBusy: the call could not be served in time, or cannot be served now, as while a disk is full; nothing was
	// stored, and the same call may be made again. Any method may return it.
	ErrBusy = errors.New("busy")
)
