package checkout

// approvalWire is the body of a job of kind JobApproval.
type approvalWire struct {
	Act    string `json:"act"`
	Target string `json:"target"`
	Detail string `json:"detail"`
	Reason string `json:"reason"`
	By     string `json:"by"`
	Role   string `json:"role"`
	Person string `json:"person"`
}
