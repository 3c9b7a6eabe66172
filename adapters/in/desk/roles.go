package desk

import (
	"errors"
	"fmt"
	"slices"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
)

// Roles says which groups of the issuer have which roles.
type Roles struct {
	Claim  string // of the ID token: a group, or a list of groups
	groups map[operate.Role][]string
}

// ParseRoles parses a file of roles: {"claim": "groups", "roles": {"support": ["grp-1"]}}. A role without a group is nobody's.
func ParseRoles(data []byte) (Roles, error) {
	const depth = 3
	file, err := strictjson.Parse(data, depth)
	if err != nil {
		return Roles{}, err
	}
	fields := strictjson.FieldsOf("", file)
	claim, _ := fields.Take("claim")
	roles, _ := fields.Take("roles")
	switch unknown := fields.Unknown(1); {
	case len(unknown) > 0:
		return Roles{}, fmt.Errorf("%s is not a field", unknown[0])
	case claim.Kind != strictjson.String || claim.Text == "":
		return Roles{}, errors.New("claim must name the claim of the ID token that has the groups")
	case roles.Kind != strictjson.Object || len(roles.Members) == 0:
		return Roles{}, errors.New("roles must be an object with a list of groups for each role")
	}
	r := Roles{Claim: claim.Text, groups: map[operate.Role][]string{}}
	for _, m := range roles.Members {
		role := operate.Role(m.Name)
		if !slices.Contains(operate.Roles(), role) {
			return Roles{}, fmt.Errorf("roles has %q; the roles are %q", m.Name, operate.Roles())
		}
		for _, group := range m.Value.Items {
			if group.Kind != strictjson.String || group.Text == "" {
				return Roles{}, fmt.Errorf("roles.%s must be a list of groups", role)
			}
			r.groups[role] = append(r.groups[role], group.Text)
		}
		if m.Value.Kind != strictjson.Array {
			return Roles{}, fmt.Errorf("roles.%s must be a list of groups", role)
		}
	}
	return r, nil
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
