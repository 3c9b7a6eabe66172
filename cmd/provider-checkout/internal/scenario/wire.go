package scenario

// createWire is the part of a create's body, and of a confirm's, that names the order.
type createWire struct {
	Provider struct {
		OrderID string `json:"provider_order_id"`
	} `json:"provider"`
}

// answerWire is the part of a confirm's answer that tells a first confirm from a repeat.
type answerWire struct {
	AlreadyConfirmed *bool `json:"already_confirmed"`
}
