package service

// AwaitSent waits for the attempts that outlast their calls.
func (s *Service) AwaitSent() { s.attempting.wait() }
