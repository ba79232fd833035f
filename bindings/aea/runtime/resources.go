package runtime

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// Errors of registries.
var (
	ErrSkill   = errors.New("not a skill as it should be")
	ErrNoSkill = errors.New("no skill with this id")
)

// Resources are the registries of an agent: its skills, with their handlers and behaviours. They may change while the agent runs. The
// protocols are those of package protocol.
type Resources struct {
	mu      sync.RWMutex
	skills  []*skillEntry
	changed chan struct{} // receives after a change
}

// A skillEntry is a skill with its state.
type skillEntry struct {
	Skill
	disabled        bool // guarded by Resources.mu
	handled, failed atomic.Uint64
	behaviours      []*behaviour
}

// A behaviour is due at a time. Only the behaviour loop reads due.
type behaviour struct {
	Behaviour
	of      *skillEntry
	due     time.Time
	running atomic.Bool
}

func newResources() *Resources { return &Resources{changed: make(chan struct{}, 1)} }

// Add registers a skill and enables it. It returns ErrSkill for a skill without an id, with the id of another, with two handlers of a
// protocol, or with incomplete handlers or behaviours.
func (r *Resources) Add(s Skill) error {
	if !wire.IsComponent(s.ID.String()) {
		return fmt.Errorf("%w: its id is not a public id", ErrSkill)
	}
	for i, h := range s.Handlers {
		if h.Protocol == nil || h.Handle == nil {
			return fmt.Errorf("%w: a handler without protocol or function", ErrSkill)
		}
		if slices.ContainsFunc(s.Handlers[:i], func(other Handler) bool { return other.Protocol == h.Protocol }) {
			return fmt.Errorf("%w: two handlers of %s", ErrSkill, h.Protocol.Name)
		}
	}
	skill := &skillEntry{Skill: s}
	for _, b := range s.Behaviours {
		if b.Act == nil || b.Every <= 0 {
			return fmt.Errorf("%w: a behaviour without function or interval", ErrSkill)
		}
		skill.behaviours = append(skill.behaviours, &behaviour{Behaviour: b, of: skill})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.find(s.ID) != nil {
		return fmt.Errorf("%w: another one has its id", ErrSkill)
	}
	r.skills = append(r.skills, skill)
	r.wake()
	return nil
}

// Remove removes a skill, or returns ErrNoSkill. The skill may finish its work in progress.
func (r *Resources) Remove(id wire.PublicID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.find(id)
	if s == nil {
		return ErrNoSkill
	}
	r.skills = slices.DeleteFunc(slices.Clone(r.skills), func(other *skillEntry) bool { return other == s })
	return nil
}

// Skills returns the ids of the skills, in the order in which they were added.
func (r *Resources) Skills() []wire.PublicID {
	r.mu.RLock()
	defer r.mu.RUnlock()
	ids := make([]wire.PublicID, 0, len(r.skills))
	for _, s := range r.skills {
		ids = append(ids, s.ID)
	}
	return ids
}

// Handler returns the handler of a skill for a protocol, enabled or not.
func (r *Resources) Handler(skill wire.PublicID, p *protocol.Protocol) (Handler, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if s := r.find(skill); s != nil {
		return s.handler(p)
	}
	return Handler{}, false
}

// Behaviours returns the behaviours of a skill, enabled or not.
func (r *Resources) Behaviours(skill wire.PublicID) []Behaviour {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if s := r.find(skill); s != nil {
		return slices.Clone(s.Behaviours)
	}
	return nil
}

func (r *Resources) find(id wire.PublicID) *skillEntry {
	if at := slices.IndexFunc(r.skills, func(s *skillEntry) bool { return s.ID == id }); at >= 0 {
		return r.skills[at]
	}
	return nil
}

func (s *skillEntry) handler(p *protocol.Protocol) (Handler, bool) {
	if at := slices.IndexFunc(s.Handlers, func(h Handler) bool { return h.Protocol == p }); at >= 0 {
		return s.Handlers[at], true
	}
	return Handler{}, false
}

// wake notifies the behaviour loop of a change.
func (r *Resources) wake() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}
