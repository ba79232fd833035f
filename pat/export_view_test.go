package pat

// Blocked reports whether an agent is blocked.
func (v *View) Blocked(service string, id AgentID) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	_, blocked := v.blocked[subject{service, string(id)}]
	return blocked
}
