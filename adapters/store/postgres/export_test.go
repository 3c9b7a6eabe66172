package postgres

import "time"

// GiveUpAfter makes the store wait for a commit no longer than that.
func (db *DB) GiveUpAfter(d time.Duration) { db.commitTimeout = d }

// Hot are the statements of calls of the API and of jobs that find rows, by a name.
var Hot = map[string]string{
	"byID": byID, "byOrder": byOrder, "byKey": byKey, "byRequest": byRequest, "byMandate": byMandate,
	"updateCheckout": updateCheckout, "selectAgreement": selectAgreement, "selectDocument": selectDocument, "addMoment": addMoment,
	"armKnown": armKnown, "hasten": hasten, "leaseEntered": leaseEntered, "leaseDue": leaseDue, "extendJob": extendJob,
	"settleJob": settleJob, "selectDue": selectDue,
}
