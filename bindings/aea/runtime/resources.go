package runtime

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/dialogue"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// Errors of Resources and Filter.
var (
	ErrSkill    = errors.New("invalid skill")
	ErrNoSkill  = errors.New("no skill has this id")
	ErrProtocol = errors.New("invalid protocol")
)

// Resources holds the registries of an agent: its protocols, and its skills with their handlers, behaviours and tasks. They may change
// while the agent runs. It begins with the protocols of package protocol.
type Resources struct {
	mu        sync.RWMutex
	protocols map[wire.PublicID]*protocol.Protocol // by specification id
	skills    []*skillEntry
	retired   []*behaviour                                  // of removed skills, until they have stopped
	changed   chan struct{}                                 // has a value after a change
	dialogues func(skill wire.PublicID) *dialogue.Dialogues // begins the dialogues of a new skill
}

// A skillEntry is a skill with its state.
type skillEntry struct {
	Skill
	disabled        bool // guarded by Resources.mu
	handled, failed atomic.Uint64
	overdue         atomic.Int64 // calls of handlers that take longer than Limits.Handler
	behaviours      []*behaviour
	dialogues       *dialogue.Dialogues // with other components of the agent
}

// A behaviour is a Behaviour with its state. Only the behaviour loop uses due and done.
type behaviour struct {
	Behaviour
	of           *skillEntry
	due          time.Time // zero: not yet known
	done         bool      // a behaviour that acts once has been started
	running      atomic.Bool
	acted        atomic.Bool // Act has run, and Stop has not
	runs, failed atomic.Uint64
}

func newResources(dialogues func(skill wire.PublicID) *dialogue.Dialogues) *Resources {
	r := &Resources{protocols: map[wire.PublicID]*protocol.Protocol{}, changed: make(chan struct{}, 1), dialogues: dialogues}
	for _, p := range protocol.All() {
		for _, spec := range p.Specs {
			r.protocols[spec] = p
		}
	}
	return r
}

// AddProtocol registers a protocol. It returns ErrProtocol if the protocol has no name, no specification id or no function, or if one of
// its ids is already registered.
func (r *Resources) AddProtocol(p *protocol.Protocol) error {
	if p == nil || p.Name == "" || len(p.Specs) == 0 || p.Parse == nil {
		return fmt.Errorf("%w: it has no name, no specification id or no function", ErrProtocol)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, spec := range p.Specs {
		if !wire.IsComponent(spec.String()) {
			return fmt.Errorf("%w: a specification id is not a public id", ErrProtocol)
		}
		if r.protocols[spec] != nil {
			return fmt.Errorf("%w: %s is already registered", ErrProtocol, spec)
		}
	}
	for _, spec := range p.Specs {
		r.protocols[spec] = p
	}
	return nil
}

// RemoveProtocol removes a protocol. Its messages are then unsupported, even in open dialogues. It returns ErrProtocol if
// the protocol is not registered.
func (r *Resources) RemoveProtocol(p *protocol.Protocol) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := false
	for spec, registered := range r.protocols {
		if registered == p {
			delete(r.protocols, spec)
			found = true
		}
	}
	if !found {
		return fmt.Errorf("%w: it is not registered", ErrProtocol)
	}
	return nil
}

// protocol returns the protocol with a specification id, or protocol.ErrUnsupported.
func (r *Resources) protocol(spec wire.PublicID) (*protocol.Protocol, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if p := r.protocols[spec]; p != nil {
		return p, nil
	}
	return nil, protocol.ErrUnsupported
}

// Add registers a skill with its protocols, and enables it unless Skill.Disabled is set. It returns ErrSkill if the id of the skill is
// missing or already registered, or if a handler, behaviour or task is incomplete. It also returns ErrSkill if two handlers have the same
// protocol, two tasks have the same name, or the protocol of a handler is not registered. It returns the errors of AddProtocol. After an
// error, nothing is registered.
func (r *Resources) Add(s Skill) error {
	skill := &skillEntry{Skill: s, disabled: s.Disabled, dialogues: r.dialogues(s.ID)}
	if err := skill.check(); err != nil {
		return err
	}
	for _, b := range s.Behaviours {
		skill.behaviours = append(skill.behaviours, &behaviour{Behaviour: b, of: skill})
	}
	for i, p := range s.Protocols {
		if err := r.AddProtocol(p); err != nil {
			r.removeProtocols(s.Protocols[:i])
			return err
		}
	}
	if err := r.add(skill); err != nil {
		r.removeProtocols(s.Protocols)
		return err
	}
	return nil
}

func (r *Resources) removeProtocols(list []*protocol.Protocol) {
	for _, p := range list {
		_ = r.RemoveProtocol(p) // a program may have removed it before
	}
}

func (r *Resources) add(skill *skillEntry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range skill.Handlers {
		if !slices.ContainsFunc(h.Protocol.Specs, func(spec wire.PublicID) bool { return r.protocols[spec] == h.Protocol }) {
			return fmt.Errorf("%w: the protocol %s is not registered", ErrSkill, h.Protocol.Name)
		}
	}
	if r.find(skill.ID) != nil {
		return fmt.Errorf("%w: another skill has the same id", ErrSkill)
	}
	r.skills = append(r.skills, skill)
	r.wake()
	return nil
}

// check returns ErrSkill if the skill is invalid by itself.
func (s *skillEntry) check() error {
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
	for _, b := range s.Behaviours {
		if b.Act == nil || b.After < 0 || b.Once == (b.Every > 0) || b.Every < 0 {
			return fmt.Errorf("%w: a behaviour has no function, or its intervals are not valid", ErrSkill)
		}
	}
	for i, t := range s.Tasks {
		if t.Name == "" || t.Execute == nil || slices.ContainsFunc(s.Tasks[:i], func(other Task) bool { return other.Name == t.Name }) {
			return fmt.Errorf("%w: a task has no function, no name or the name of another task", ErrSkill)
		}
	}
	return nil
}

// Remove removes a skill with its protocols. It returns ErrNoSkill if the skill does not exist. The skill may finish its work in progress,
// and its behaviours then stop.
func (r *Resources) Remove(id wire.PublicID) error {
	r.mu.Lock()
	s := r.find(id)
	if s == nil {
		r.mu.Unlock()
		return ErrNoSkill
	}
	r.skills = slices.DeleteFunc(slices.Clone(r.skills), func(other *skillEntry) bool { return other == s })
	r.retired = append(r.retired, s.behaviours...)
	r.wake()
	r.mu.Unlock()
	r.removeProtocols(s.Protocols)
	return nil
}

// State returns the state of a skill, for other skills. ok is false if the skill does not exist, if it shows no state, or if Skill.State
// panics.
func (r *Resources) State(skill wire.PublicID) (state any, ok bool) {
	r.mu.RLock()
	s := r.find(skill)
	r.mu.RUnlock()
	if s == nil {
		return nil, false
	}
	return s.show()
}

// show returns the state that the skill shows. ok is false if Skill.State is missing or panics.
func (s *skillEntry) show() (state any, ok bool) {
	defer func() {
		if recover() != nil {
			state, ok = nil, false
		}
	}()
	if s.State == nil {
		return nil, false
	}
	return s.State(), true
}

// dialoguesOf returns the dialogues of a skill. A skill that was removed, and stops its work, gets new ones.
func (r *Resources) dialoguesOf(skill wire.PublicID) *dialogue.Dialogues {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if s := r.find(skill); s != nil {
		return s.dialogues
	}
	return r.dialogues(skill)
}

// named returns the id of the skill that to names: by its complete id, or by its author and name.
func (r *Resources) named(to wire.PublicID) (wire.PublicID, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.find(to) != nil {
		return to, true
	}
	at := slices.IndexFunc(r.skills, func(s *skillEntry) bool { return s.ID.Author == to.Author && s.ID.Name == to.Name })
	if at < 0 {
		return wire.PublicID{}, false
	}
	return r.skills[at].ID, true
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
