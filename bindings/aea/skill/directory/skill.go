// Package directory implements the search skill: agents register descriptions of their services with the agent of a service, and search
// for each other, with the protocols oef_search and oef. The agent of the service registers its own intents in the same way.
//
//	d := directory.New(directory.Config{Address: address, Now: time.Now})
//	r.Resources().Add(d.Skill())
//
// The framework's skills describe an agent in pieces: its location, keys and values of a service, and its personality. These pieces are one
// profile, and each description with another model is matched together with the profile. A registration ends when its agent leaves or, on
// connections that do not notice this, an hour after the agent registered last.
package directory

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/ratelimit"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
	"github.com/uimgate/uimgate/internal/wire/aea/search"
)

// A Config configures a Skill.
type Config struct {
	Address string // address of the agent that has the skill
	Now     func() time.Time
}

// A Skill is a directory of agents. It is safe for concurrent use.
type Skill struct {
	Config
	registry *registry
	byAgent  *ratelimit.Set
	all      *ratelimit.Set
}

// Requests of one agent, and of all other agents together: an agent can create any number of addresses.
var (
	perAgent = limit.Rate{Max: 240, Period: limit.Minute}
	ofAll    = limit.Rate{Max: 200, Period: limit.Second}
)

// New returns a directory without registrations.
func New(c Config) *Skill {
	return &Skill{Config: c, registry: newRegistry(c.Now), byAgent: ratelimit.NewSet(perAgent), all: ratelimit.NewSet(ofAll)}
}

// Close ends the background work of the skill. It must be called when the skill gets no more messages.
func (s *Skill) Close() {
	s.byAgent.Close()
	s.all.Close()
}

// Skill returns the skill for registration with a runtime. Its state is a Status.
func (s *Skill) Skill() runtime.Skill {
	return runtime.Skill{
		ID:       ID,
		Handlers: []runtime.Handler{{Protocol: &protocol.OEFSearch, Handle: s.handle}, {Protocol: &protocol.OEF, Handle: s.handle}},
		Behaviours: []runtime.Behaviour{{Name: "forget registrations", Every: time.Minute, Act: func(context.Context) error {
			s.registry.forgetOld()
			return nil
		}}},
		State: func() any { return s.registry.status() },
	}
}

// handle replies to a request. Every request that fails gets an oef_error.
func (s *Skill) handle(_ context.Context, m runtime.Message) error {
	request, ok := m.Content.(protocol.OEFMessage)
	if !ok {
		return nil
	}
	var answer protocol.OEFMessage
	var err error
	var operation protocol.OEFOperation
	switch request.Performative {
	case protocol.OEFRegisterService:
		operation = protocol.OEFOperationRegister
		err = s.change(m, request.Description, func(peer runtime.Peer, d search.Description) error {
			address, own := m.Sender, m.Inside()
			if own {
				address = s.Address
			}
			return s.registry.register(peer, address, own, d, request.Description)
		})
	case protocol.OEFUnregisterService:
		operation = protocol.OEFOperationUnregister
		err = s.change(m, request.Description, func(peer runtime.Peer, d search.Description) error {
			return s.registry.unregister(peer, d, request.Description)
		})
	case protocol.OEFSearchServices, protocol.OEFSearchAgents:
		operation = protocol.OEFOperationSearch
		answer, err = s.find(m, request.Query)
	default: // replies, which are for other skills
		return nil
	}
	switch {
	case err != nil:
		answer = protocol.OEFMessage{Performative: protocol.OEFError, Operation: operation}
	case answer.Performative == "" && request.Older: // the older protocol has no reply to a registration
		return nil
	case answer.Performative == "":
		answer.Performative = protocol.OEFSuccess
	}
	answer.Older = request.Older
	return m.Reply(answer)
}

func (s *Skill) change(m runtime.Message, data []byte, do func(runtime.Peer, search.Description) error) error {
	if len(data) > maxDescription {
		return errInvalid
	}
	if err := s.admit(m); err != nil {
		return err
	}
	d, err := search.DecodeDescription(data)
	if err != nil {
		return err
	}
	return do(m.Peer(), d)
}

func (s *Skill) find(m runtime.Message, data []byte) (protocol.OEFMessage, error) {
	if err := s.admit(m); err != nil {
		return protocol.OEFMessage{}, err
	}
	q, err := search.DecodeQuery(data)
	if err != nil {
		return protocol.OEFMessage{}, err
	}
	found, err := s.registry.search(q, m.Sender)
	if err != nil {
		return protocol.OEFMessage{}, err
	}
	return protocol.OEFMessage{Performative: protocol.OEFSearchResult, Agents: found}, nil
}

// admit counts a request of another agent. It returns errFull if there are too many.
func (s *Skill) admit(m runtime.Message) error {
	if m.Inside() {
		return nil
	}
	if now := s.Now(); !s.byAgent.Admit(m.Sender, now) || !s.all.Admit("", now) {
		return errFull
	}
	return nil
}
