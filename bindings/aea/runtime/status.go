package runtime

import (
	"time"

	"github.com/uimgate/uimgate/internal/wire/aea/dialogue"
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
	Handled uint64 `json:"handled"` // messages that it received, and runs of its behaviours
	Failed  uint64 `json:"failed"`  // messages and runs that failed
}

// Status returns the current state of the runtime.
func (r *Runtime) Status() Status {
	m := r.multiplexer
	s := Status{
		Address: r.address, Skills: r.resources.status(), InBox: m.box.InBox.Status(), Dialogues: r.dialogues.Counts(),
		Errors: r.errors.Status(), Unserved: m.unserved.Load(), Routes: m.routes.len(), Tasks: len(r.tasks),
		Relay: m.relay.status(),
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
	r.mu.RLock()
	defer r.mu.RUnlock()
	var all []SkillStatus
	for _, s := range r.skills {
		all = append(all, SkillStatus{ID: s.ID.String(), Enabled: !s.disabled, Handled: s.handled.Load(), Failed: s.failed.Load()})
	}
	return all
}
