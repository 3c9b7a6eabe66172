package desk

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
)

// The roles of a person at the desk.
const (
	viewer = "viewer" // reads
	agent  = "agent"  // reads and acts
)

// Roles says which groups have which role.
type Roles struct {
	Claim         string // of the ID token: a group, or a list of groups
	Agent, Viewer []string
}

// ParseRoles parses a roles file: {"claim": "groups", "agent": ["desk-agents"], "viewer": ["staff"]}.
func ParseRoles(data []byte) (Roles, error) {
	var r Roles
	if err := json.Unmarshal(data, &r, json.RejectUnknownMembers(true), json.MatchCaseInsensitiveNames(true)); err != nil {
		return Roles{}, err
	}
	switch groups := append(slices.Clone(r.Agent), r.Viewer...); {
	case r.Claim == "":
		return Roles{}, errors.New("claim must name the claim of the ID token that has the groups")
	case len(groups) == 0, slices.Contains(groups, ""):
		return Roles{}, errors.New("agent and viewer must list groups, and no empty one")
	}
	return r, nil
}

func (r Roles) of(groups []string) string {
	member := func(group string) bool { return slices.Contains(groups, group) }
	switch {
	case slices.ContainsFunc(r.Agent, member):
		return agent
	case slices.ContainsFunc(r.Viewer, member):
		return viewer
	}
	return ""
}
