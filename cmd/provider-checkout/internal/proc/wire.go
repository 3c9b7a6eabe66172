package proc

// Milestone is a line of the log.
type Milestone struct {
	Msg, Addr string
	OpsAddr   string `json:"ops_addr"`
}
