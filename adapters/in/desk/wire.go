package desk

import "github.com/provider-checkout/provider-checkout/checkout/service/operate"

// rolesWire is the file of roles.
type rolesWire struct {
	Claim string                    `json:"claim"`
	Roles map[operate.Role][]string `json:"roles"`
}

// claims are the fields of an ID token that the desk reads, beside the claim that has the groups.
type claims struct {
	Subject  string `json:"sub"`
	Username string `json:"preferred_username"`
	Email    string `json:"email"`
	AuthTime int64  `json:"auth_time"`
	Party    string `json:"azp"` // the client for which the token was issued, of several in its audience
}

// discovery is the field of an issuer's configuration that the desk reads.
type discovery struct {
	Scopes []string `json:"scopes_supported"`
}
