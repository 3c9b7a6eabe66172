package control

type errorWire struct {
	Error string `json:"error"`
}

type clockWire struct {
	Now string `json:"now"`
}

type moveWire struct {
	Advance string `json:"advance"`
}
