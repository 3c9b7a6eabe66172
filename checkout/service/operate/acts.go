package operate

import (
	"errors"
	"slices"
)

// Role is the role in which somebody works at the desk.
type Role string

const (
	Support    Role = "support"
	Finance    Role = "finance"
	Compliance Role = "compliance" // privacy too
	Engineer   Role = "engineer"
	Auditor    Role = "auditor" // reads only
)

// Roles lists every role.
func Roles() []Role { return []Role{Support, Finance, Compliance, Engineer, Auditor} }

// Act is something that an operator sees or does, by its name in the evidence log.
type Act string

const (
	ActSee       Act = "see"       // what is on record, without personal data
	ActName      Act = "name"      // see the names of payers
	ActMonths    Act = "months"    // see the month's figures
	ActAudit     Act = "audit"     // see the evidence log
	ActApprovals Act = "approvals" // see what waits for a second person

	ActReveal    Act = "reveal"         // see the personal data of a checkout; each look is recorded
	ActAgreement Act = "agreement"      // read the agreement of a checkout whose personal data is shown
	ActExport    Act = "privacy export" // take out everything that is on record about a person
	ActLink      Act = "link"
	ActNotice    Act = "notice"
	ActCancel    Act = "cancel"
	ActWithdraw  Act = "withdraw"
	ActErase     Act = "privacy erase"
	ActRedeliver Act = "events redeliver" // one event
	ActRetry     Act = "jobs retry"

	ActPing         Act = "providers ping"
	ActRedeliverAll Act = "redeliver all" // of a provider
	ActDisable      Act = "providers disable"
	ActEnable       Act = "providers enable"
	ActRate         Act = "providers rate"
	ActIssueKey     Act = "keys issue"
	ActRevokeKey    Act = "keys revoke"
)

// Rights says who may do an act.
type Rights struct {
	Alone    []Role // may do it at once
	Ask      []Role // may ask for it
	Approve  []Role // may approve it, for somebody else
	Reasoned bool   // it needs a reason
	Fresh    bool   // it needs a sign-in of a few minutes ago, as every approval does
}

// rights has every act.
var rights = map[Act]Rights{
	ActSee:       {Alone: Roles()},
	ActName:      {Alone: []Role{Support, Finance, Compliance}},
	ActMonths:    {Alone: []Role{Finance, Compliance, Auditor}},
	ActAudit:     {Alone: []Role{Compliance, Auditor}},
	ActApprovals: {Alone: []Role{Support, Compliance, Engineer}},

	ActReveal:    {Alone: []Role{Support, Compliance, Auditor}, Reasoned: true},
	ActAgreement: {Alone: []Role{Support, Compliance, Auditor}},
	ActExport:    {Alone: []Role{Compliance}, Reasoned: true},
	ActLink:      {Alone: []Role{Support}, Reasoned: true},
	ActNotice:    {Alone: []Role{Support}, Reasoned: true},
	ActCancel:    {Alone: []Role{Support, Compliance}, Reasoned: true},
	ActWithdraw:  {Ask: []Role{Support}, Approve: []Role{Compliance}, Reasoned: true, Fresh: true},
	ActErase:     {Ask: []Role{Compliance}, Approve: []Role{Compliance}, Reasoned: true, Fresh: true},
	ActRedeliver: {Alone: []Role{Support, Engineer}, Reasoned: true},
	ActRetry:     {Alone: []Role{Engineer}, Reasoned: true},

	ActPing:         {Alone: []Role{Engineer}},
	ActRedeliverAll: {Alone: []Role{Engineer}, Reasoned: true},
	ActDisable:      {Alone: []Role{Compliance}, Reasoned: true, Fresh: true},
	ActEnable:       {Ask: []Role{Compliance, Engineer}, Approve: []Role{Compliance}, Reasoned: true, Fresh: true},
	ActRate:         {Alone: []Role{Engineer}, Reasoned: true},
	ActIssueKey:     {Alone: []Role{Engineer}, Reasoned: true, Fresh: true},
	ActRevokeKey:    {Alone: []Role{Compliance, Engineer}, Reasoned: true, Fresh: true},
}

// RightsTo returns who may do an act; nobody may do an act that is not known.
func RightsTo(act Act) Rights { return rights[act] }

// Open reports whether a role may do the act, or ask for it.
func (r Rights) Open(role Role) bool {
	return slices.Contains(r.Alone, role) || slices.Contains(r.Ask, role)
}

// The reasons why an act is refused.
var (
	ErrNotAllowed = errors.New("this role may not do that")
	ErrNoReason   = errors.New("it needs a reason")
	ErrSamePerson = errors.New("whoever asked for an act cannot approve it")
	ErrDecided    = errors.New("it was decided meanwhile, or its time ran out")
)

// May returns why the operator may not do the act alone, or nil.
func (o Operator) May(act Act) error { return o.permitted(rights[act].Alone, act) }

func (o Operator) permitted(roles []Role, act Act) error {
	switch {
	case !slices.Contains(roles, o.Role):
		return ErrNotAllowed
	case rights[act].Reasoned && o.Reason == "":
		return ErrNoReason
	}
	return nil
}
