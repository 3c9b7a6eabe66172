package gocardlesstest

import "maps"

// Statistics returns what the simulator has done so far.
func (s *Simulator) Statistics() Statistics {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.counts
	all.Calls, all.Answers, all.Faults = maps.Clone(all.Calls), maps.Clone(all.Answers), s.faults.Suffered()
	all.BillingRequests, all.Mandates, all.Events = len(s.state.requestOrder), len(s.state.mandates), len(s.state.events)
	all.RequestsByMetadata, all.RequestsByKey, all.MandatesByMetadata = map[string]int{}, map[string]int{}, map[string]int{}
	for _, b := range s.state.requestOrder {
		if b.status == requestFulfilled {
			all.Fulfilled++
		}
		if b.key != "" {
			all.RequestsByKey[b.key]++
		}
		for name, value := range b.metadata {
			all.RequestsByMetadata[name+"="+value]++
			if b.mandateID != "" {
				all.MandatesByMetadata[name+"="+value]++
			}
		}
	}
	return all
}
