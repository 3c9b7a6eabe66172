package witness

// Unlock gives the folder up, as the end of the process does.
func (h *Witness) Unlock() { _ = h.folder.Close() }
