package checkout

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
)

// Approval is an act of an operator that waits for a second person. It ends once: it is approved, declined, or its time runs out.
// Each end is an entry of the evidence log under the id of the approval, so that there is one at most.
type Approval struct {
	ID       string // apr_…
	Act      string
	Target   string // a checkout's id, a provider's code, an agreement's number; no personal data
	Detail   string // of the act: the ground of a withdrawal
	Reason   string
	By, Role string // who asked, as the evidence log names them
	Person   string // who asked, under every name and role, as the issuer of sign-ins knows them
	AskedAt  time.Time
}

// ApprovalLife is the time for which an act waits for a second person.
const ApprovalLife = 24 * time.Hour

// ApprovalLook is the time after which the job of an approval looks whether it was decided, and ends if it was.
const ApprovalLook = 10 * time.Minute

// Expires returns when the time to decide runs out.
func (a Approval) Expires() time.Time { return a.AskedAt.Add(ApprovalLife) }

// Job returns the job that ends once the approval was decided, and ends the approval when its time has run out.
func (a Approval) Job() Job {
	body, err := json.Marshal(approvalWire{a.Act, a.Target, a.Detail, a.Reason, a.By, a.Role, a.Person})
	if err != nil {
		panic("checkout: " + err.Error()) // no text fails
	}
	return Job{ID: a.ID, Kind: JobApproval, Name: a.Act + " " + a.Target, Body: body, CreatedAt: a.AskedAt,
		Due: a.AskedAt.Add(ApprovalLook)}
}

// Approval returns the approval that a job of kind JobApproval ends.
func (j Job) Approval() (Approval, error) {
	var w approvalWire
	if err := json.Unmarshal(j.Body, &w); err != nil {
		return Approval{}, fmt.Errorf("read approval %s: %w", j.ID, err)
	}
	return Approval{ID: j.ID, Act: w.Act, Target: w.Target, Detail: w.Detail, Reason: w.Reason, By: w.By, Role: w.Role,
		Person: w.Person, AskedAt: j.CreatedAt}, nil
}

// Ended returns the record of an approval that ended without the act: how is "declined" or "expired", and why is for the log.
func (a Approval) Ended(how, why string, at time.Time) evidence.Operation {
	return evidence.Operation{At: at, Operator: OperatorIn(a.By, a.Role), Name: a.Act + " " + how, Subject: a.Target, Reason: a.Reason,
		Changes: []string{why}}
}

// OperatorIn returns the name of an operator in a role, for the evidence log; the role is "" at the command line.
func OperatorIn(name, role string) string {
	if role == "" {
		return name
	}
	return name + " (" + role + ")"
}
