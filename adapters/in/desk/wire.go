package desk

// rolesWire is the roles file.
type rolesWire struct {
	Claim  string   `json:"claim"`
	Agent  []string `json:"agent"`
	Viewer []string `json:"viewer"`
}
