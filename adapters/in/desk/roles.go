package desk

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
)

// Roles says which groups of the issuer have which roles.
type Roles struct {
	Claim  string // of the ID token: a group, or a list of groups
	groups map[operate.Role][]string
}

// ParseRoles parses a file of roles: {"claim": "groups", "roles": {"support": ["grp-1"]}}. A role without a group is nobody's.
func ParseRoles(data []byte) (Roles, error) {
	var file rolesWire
	if err := json.Unmarshal(data, &file, json.RejectUnknownMembers(true)); err != nil {
		return Roles{}, err
	}
	switch {
	case file.Claim == "":
		return Roles{}, errors.New("claim must name the claim of the ID token that has the groups")
	case len(file.Roles) == 0:
		return Roles{}, errors.New("roles must be an object with a list of groups for each role")
	}
	for role, groups := range file.Roles {
		switch {
		case !slices.Contains(operate.Roles(), role):
			return Roles{}, fmt.Errorf("roles has %q; the roles are %q", role, operate.Roles())
		case slices.Contains(groups, ""):
			return Roles{}, fmt.Errorf("roles.%s has a group without a name", role)
		}
	}
	return Roles{file.Claim, file.Roles}, nil
}

// clickable are the roles of a sandbox without an issuer: each is its own group.
func clickable() Roles {
	r := Roles{groups: map[operate.Role][]string{}}
	for _, role := range operate.Roles() {
		r.groups[role] = []string{string(role)}
	}
	return r
}

// known returns the groups that have a role.
func (r Roles) known(groups []string) (known []string) {
	for _, g := range groups {
		if len(r.of([]string{g})) > 0 {
			known = append(known, g)
		}
	}
	return known
}

// of returns the roles of somebody in the groups.
func (r Roles) of(groups []string) (roles []operate.Role) {
	for _, role := range operate.Roles() {
		if slices.ContainsFunc(r.groups[role], func(g string) bool { return slices.Contains(groups, g) }) {
			roles = append(roles, role)
		}
	}
	return roles
}
