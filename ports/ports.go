// Package ports has the interfaces through which the core uses the outside. Each comment is a specification: an adapter that
// keeps it may replace any other. A service uses [Store] and the ports in out.go and processor.go; the
// operator's commands use [Admin]. Package adapters/kit/storetest tests a store against every promise,
// adapters/kit/processortest a processor, and adapters/kit/crmtest a CRM.
//
// All methods are safe for concurrent use and return early when ctx ends. Values that go in or come out share no memory with
// the adapter: either side may change its own afterwards.
package ports

import "errors"

var (
	// ErrNotFound: there is no such record.
	ErrNotFound = errors.New("not found")
	// ErrDuplicate: a unique name is taken; nothing was stored.
	ErrDuplicate = errors.New("already exists")
	// ErrBusy: the call could not be served in time, or cannot be served now, as while a disk is full; nothing was stored, and
	// the same call may be made again. Any method may return it.
	ErrBusy = errors.New("busy")

	// ErrUnknown: whether a change was stored is not known, for the answer to its commit was lost.
	ErrUnknown = errors.New("the outcome is not known")
)
