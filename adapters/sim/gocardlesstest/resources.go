package gocardlesstest

func getMandate(s *state, c *call) (answer, *apiError) {
	m, ok := s.mandates[c.id]
	if !ok {
		return answer{}, notFound()
	}
	return answer{id: m.id, body: m.toWire()}, nil
}

func cancelMandate(s *state, c *call) (answer, *apiError) {
	m, ok := s.mandates[c.id]
	if !ok {
		return answer{}, notFound()
	}
	f := c.form()
	f.metadata()
	if err := f.err(); err != nil {
		return answer{}, err
	}
	if m.dead() {
		return answer{}, wrongState("mandate_not_cancelled", "The mandate is "+m.status+" and cannot be cancelled")
	}
	m.ended = true
	s.move(c.now, m, move{action: "cancelled"})
	return answer{id: m.id, body: m.toWire()}, nil
}

func listCreditors(s *state, c *call) (answer, *apiError) {
	all := []object{}
	for _, creditor := range s.creditors {
		all = append(all, creditor.toWire(s.opened))
	}
	return answer{body: all, meta: metaOf("", "", defaultLimit)}, nil
}
