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

// Errors of Resources and Filter.
var (
	ErrSkill   = errors.New("invalid skill")
	ErrNoSkill = errors.New("no skill has this id")
)

// Resources holds the registries of an agent: its skills, with their handlers and behaviours. They may change while the agent runs. The
// protocols are those of package protocol.
type Resources struct {
	mu      sync.RWMutex
	skills  []*skillEntry
	changed chan struct{} // has a value after a change
}

// A skillEntry is a skill with its state.
type skillEntry struct {
	Skill
	disabled        bool // guarded by Resources.mu
	handled, failed atomic.Uint64
	behaviours      []*behaviour
}

// A behaviour is a Behaviour with its state. Only the behaviour loop uses due.
type behaviour struct {
	Behaviour
	of      *skillEntry
	due     time.Time
	running atomic.Bool
}

func newResources() *Resources { return &Resources{changed: make(chan struct{}, 1)} }

// Add registers a skill and enables it. It returns ErrSkill if the skill has no id or an id that is already registered, if it has two
// handlers for one protocol, or if a handler or behaviour is incomplete.
func (r *Resources) Add(s Skill) error {
	if !wire.IsComponent(s.ID.String()) {
		return fmt.Errorf("%w: the id is not a public id", ErrSkill)
	}
	for i, h := range s.Handlers {
		if h.Protocol == nil || h.Handle == nil {
			return fmt.Errorf("%w: a handler has no protocol or no function", ErrSkill)
		}
		if slices.ContainsFunc(s.Handlers[:i], func(other Handler) bool { return other.Protocol == h.Protocol }) {
			return fmt.Errorf("%w: there are two handlers for %s", ErrSkill, h.Protocol.Name)
		}
	}
	skill := &skillEntry{Skill: s}
	for _, b := range s.Behaviours {
		if b.Act == nil || b.Every <= 0 {
			return fmt.Errorf("%w: a behaviour has no function or no interval", ErrSkill)
		}
		skill.behaviours = append(skill.behaviours, &behaviour{Behaviour: b, of: skill})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.find(s.ID) != nil {
		return fmt.Errorf("%w: another skill has the same id", ErrSkill)
	}
	r.skills = append(r.skills, skill)
	r.wake()
	return nil
}

// Remove removes a skill. It returns ErrNoSkill if there is no such skill. The skill may finish its work in progress.
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
