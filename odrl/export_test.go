package odrl

// Planned decides by the plan alone, without telling the facts it read; false where there is none.
func (p *Policy) Planned(r *Request) bool {
	_, ok := p.planned(r)
	return ok
}
