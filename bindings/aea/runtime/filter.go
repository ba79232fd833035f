package runtime

import (
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// A Filter selects, among the enabled skills, the handlers for an envelope and the behaviours to run.
type Filter struct{ resources *Resources }

// SetEnabled enables or disables a skill while the agent runs. If the agent does not have the skill, it returns ErrNoSkill.
func (f *Filter) SetEnabled(skill wire.PublicID, enabled bool) error {
	f.resources.mu.Lock()
	defer f.resources.mu.Unlock()
	s := f.resources.find(skill)
	if s == nil {
		return ErrNoSkill
	}
	s.disabled = !enabled
	f.resources.wake()
	return nil
}

// Enabled reports whether the agent has the skill, and the skill is enabled.
func (f *Filter) Enabled(skill wire.PublicID) bool {
	f.resources.mu.RLock()
	defer f.resources.mu.RUnlock()
	s := f.resources.find(skill)
	return s != nil && !s.disabled
}

// active is a handler of an enabled skill.
type active struct {
	Handler
	of *skillEntry
}

// handlers returns the handlers of the enabled skills for a protocol. If to is a public id, handlers considers only the skill with that id.
func (f *Filter) handlers(to string, p *protocol.Protocol) []active {
	f.resources.mu.RLock()
	defer f.resources.mu.RUnlock()
	skill, err := wire.ParsePublicID(to)
	var found []active
	for _, s := range f.resources.skills {
		if s.disabled || err == nil && s.ID != skill {
			continue
		}
		if h, ok := s.handler(p); ok {
			found = append(found, active{h, s})
		}
	}
	return found
}

// behaviours returns the behaviours of the enabled skills.
func (f *Filter) behaviours() []*behaviour {
	f.resources.mu.RLock()
	defer f.resources.mu.RUnlock()
	var found []*behaviour
	for _, s := range f.resources.skills {
		if !s.disabled {
			found = append(found, s.behaviours...)
		}
	}
	return found
}
