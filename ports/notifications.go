package ports

import (
	"context"
	"time"
)

// Notifications keeps what a processor has notified, so that none that was acknowledged is lost, and one that comes
// again is known. Like Store, it keeps what it has returned nil for.
type Notifications interface {
	// KeepNotifications stores the notifications whose ids are not on record, all of them or none, and returns these in
	// the order given. An id that comes twice counts once. Of concurrent calls with the same id, one returns it.
	KeepNotifications(ctx context.Context, given []Notification) (fresh []Notification, err error)

	// PendingNotifications returns at most limit notifications that were received before a time and are not settled,
	// those received first first; of one time, in the order of their ids.
	PendingNotifications(ctx context.Context, before time.Time, limit int) ([]Notification, error)

	// SettleNotifications marks the notifications as dealt with at a time. The first time stays, and an unknown id is
	// ignored.
	SettleNotifications(ctx context.Context, ids []string, at time.Time) error

	// LeaseTask leases a task, which one process does at a time, until a time. Its epoch is the fencing token, which
	// rises with every lease from 1 on; its cursor is the one saved last, or "". ErrBusy if the task is leased at the time now.
	LeaseTask(ctx context.Context, name string, now, until time.Time) (Task, error)

	// SaveTask saves the cursor of a leased task and extends its lease; a time that is past gives the lease back.
	// ErrNotFound if the epoch is another: then another process has the task, and nothing changes.
	SaveTask(ctx context.Context, name string, t Task, until time.Time) error
}

// Notification is what a processor said that happened. It is a hint: what is so must be asked of the processor.
type Notification struct {
	ID               string // unique at the processor
	Received         time.Time
	Resource, Action string // the processor's words
	BillingRequestID string // that it is about; "" if none
	MandateID        string
}

// Task is work that one process does at a time.
type Task struct {
	Epoch  int64
	Cursor string // how far it is
}
