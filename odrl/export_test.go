package odrl

// Planned decides with the plan alone, without collecting facts. It returns false if there is no plan.
func (p *Policy) Planned(r *Request) bool {
	_, ok := p.planned(r)
	return ok
}
