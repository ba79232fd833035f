package runtime

import (
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/wire/aea/dialogue"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// A Status is the state of a runtime at one moment, for operators.
type Status struct {
	Address     string             `json:"address"`
	Connections []ConnectionStatus `json:"connections"`
	Skills      []SkillStatus      `json:"skills"`
	InBox       InBoxStatus        `json:"inbox"`
	Dialogues   dialogue.Counts    `json:"dialogues"`
	Errors      ErrorStatus        `json:"errors"`
	Unserved    uint64             `json:"unserved"`        // envelopes for other agents, or from outside for a component
	Relay       *RelayStatus       `json:"relay,omitempty"` // nil: no connection relays
	Routes      int                `json:"routes"`          // peers whose connection is remembered
	Tasks       int                `json:"tasks"`           // waiting tasks
	Inside      uint64             `json:"inside"`          // envelopes from one component to a skill
	Resources   ResourceStatus     `json:"resources"`
}

// A ResourceStatus lists the registries of an agent.
type ResourceStatus struct {
	Protocols  []ProtocolStatus  `json:"protocols"`
	Handlers   []HandlerStatus   `json:"handlers"`
	Behaviours []BehaviourStatus `json:"behaviours"`
	Tasks      []TaskStatus      `json:"tasks"`
}

// A ProtocolStatus is one registered protocol.
type ProtocolStatus struct {
	Name  string   `json:"name"`
	Specs []string `json:"specs"` // specification ids
}

// A HandlerStatus is the handler of a skill for one protocol.
type HandlerStatus struct {
	Skill    string `json:"skill"`
	Protocol string `json:"protocol"`
	Enabled  bool   `json:"enabled"`
}

// A BehaviourStatus is a behaviour of a skill.
type BehaviourStatus struct {
	Skill   string `json:"skill"`
	Name    string `json:"name"`
	Enabled bool   `json:"enabled"`
	Every   string `json:"every,omitempty"` // empty: it acts once
	Running bool   `json:"running"`
	Runs    uint64 `json:"runs"`   // runs that have ended
	Failed  uint64 `json:"failed"` // runs that failed
}

// A TaskStatus is a task of a skill.
type TaskStatus struct {
	Skill   string `json:"skill"`
	Name    string `json:"name"`
	Enabled bool   `json:"enabled"`
}

// A ConnectionStatus is the state of one connection.
type ConnectionStatus struct {
	ID string `json:"id"`
	Up bool   `json:"up"`
	ConnectionState
	Received    uint64     `json:"received"` // envelopes
	Refused     uint64     `json:"refused"`  // input that is not an envelope for the connection
	Sent        uint64     `json:"sent"`     // envelopes
	Dropped     uint64     `json:"dropped"`  // accepted envelopes that were not sent
	Restarts    uint64     `json:"restarts"`
	LastError   string     `json:"last_error,omitempty"`
	LastErrorAt *time.Time `json:"last_error_at,omitempty"`
}

// A SkillStatus is the state of one skill.
type SkillStatus struct {
	ID      string `json:"id"`
	Enabled bool   `json:"enabled"`
	Handled uint64 `json:"handled"`         // messages that it received, and runs of its behaviours
	Failed  uint64 `json:"failed"`          // messages and runs that failed
	Overdue int64  `json:"overdue"`         // calls of its handlers that have not returned in time, and still run
	State   any    `json:"state,omitempty"` // what the skill shows to other skills and to operators
}

// Status returns the current state of the runtime.
func (r *Runtime) Status() Status {
	m := r.multiplexer
	s := Status{
		Address: r.address, Skills: r.resources.status(), InBox: m.box.InBox.Status(), Dialogues: r.dialogues.Counts(),
		Errors: r.errors.Status(), Unserved: m.unserved.Load(), Routes: m.routes.len(), Tasks: r.tasks.len(),
		Relay: m.relay.status(), Inside: m.inside.Load(), Resources: r.resources.registries(),
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, p := range m.ports {
		s.Connections = append(s.Connections, p.status())
	}
	return s
}

func (p *Port) status() ConnectionStatus {
	s := ConnectionStatus{
		ID: p.connection.ID().String(), Up: p.up.Load(), ConnectionState: p.connection.State(), Received: p.received.Load(),
		Refused: p.refused.Load(), Sent: p.sent.Load(), Dropped: p.dropped.Load(), Restarts: p.restarts.Load(),
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lastErr != "" {
		at := p.lastAt
		s.LastError, s.LastErrorAt = p.lastErr, &at
	}
	return s
}

func (r *Resources) status() []SkillStatus {
	var all []SkillStatus
	var entries []*skillEntry
	r.mu.RLock()
	for _, s := range r.skills {
		all = append(all, SkillStatus{
			ID: s.ID.String(), Enabled: !s.disabled, Handled: s.handled.Load(), Failed: s.failed.Load(), Overdue: s.overdue.Load(),
		})
		entries = append(entries, s)
	}
	r.mu.RUnlock()
	for i, s := range entries {
		all[i].State, _ = s.show()
	}
	return all
}

func (r *Resources) registries() (s ResourceStatus) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	of := map[*protocol.Protocol][]string{}
	for spec, p := range r.protocols {
		of[p] = append(of[p], spec.String())
	}
	for p, specs := range of {
		s.Protocols = append(s.Protocols, ProtocolStatus{Name: p.Name, Specs: slices.Sorted(slices.Values(specs))})
	}
	slices.SortFunc(s.Protocols, func(a, b ProtocolStatus) int { return strings.Compare(a.Name, b.Name) })
	for _, one := range r.skills {
		id, enabled := one.ID.String(), !one.disabled
		for _, h := range one.Handlers {
			s.Handlers = append(s.Handlers, HandlerStatus{Skill: id, Protocol: h.Protocol.Name, Enabled: enabled})
		}
		for _, b := range one.behaviours {
			state := BehaviourStatus{
				Skill: id, Name: b.Name, Enabled: enabled, Running: b.running.Load(), Runs: b.runs.Load(), Failed: b.failed.Load(),
			}
			if !b.Once {
				state.Every = b.Every.String()
			}
			s.Behaviours = append(s.Behaviours, state)
		}
		for _, t := range one.Tasks {
			s.Tasks = append(s.Tasks, TaskStatus{Skill: id, Name: t.Name, Enabled: enabled})
		}
	}
	return s
}
