// Package skill is the skill intents, which answers agents of the AEA framework for a service. It negotiates by fipa, where a proposal is
// the terms of the policy for one intent and an acceptance is a signed agreement, and executes: requests in messages of http, and calls
// as JSON in messages of default.
//
//	s := skill.New(skill.Config{…})
//	r.Resources().Add(s.Skill())
//
// It contains no rule of its own. An agree.Service makes agreements, a door.Host executes calls, and the public API of the gateway answers
// messages of http, which are requests to it.
package skill

import (
	"context"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/ratelimit"
	"github.com/uimgate/uimgate/internal/reason"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// ID names the skill inside of the agent of a service.
var ID = wire.PublicID{Author: "uimgate", Name: "intents", Version: "1.0.0"}

// A Config is what a Skill is built on. All of it is required but HTTP and Clear.
type Config struct {
	Door    string                  // name of the door, for logs, metrics, audit records and idempotency keys
	ID      string                  // of the service
	Address string                  // of the service among agents
	Serving func() *service.Service // as it is served at the moment; nil where it is not any more
	Host    door.Host               // carries out calls
	API     http.Handler            // answers messages of the protocol http, whose requests carry their door.Origin
	Shed    func(reason.Cause)      // counts what the skill itself refuses because there is too much to do
	Memory  *membudget.Budget       // calls are read within it
	Now     func() time.Time
	Log     *zap.Logger
	// HTTP: requests of the protocol http are answered.
	HTTP bool
	// Clear: PATs are also sent over connections that others can read.
	Clear bool
}

// A Skill answers the agents of one service. It is safe for concurrent use.
type Skill struct {
	Config
	offers  *offers
	byAgent *ratelimit.Set // by sender, of calls for proposals and counter-offers
	agrees  *ratelimit.Set // of agreements, of all senders: names of agents cost nothing
}

// proposals bounds how often one agent is made a proposal: each has the policy evaluated.
var proposals = limit.Rate{Max: 120, Period: limit.Minute}

// agreements bounds those of all agents of one service, so that they leave most of the capacity to other doors.
var agreements = limit.Rate{Max: 20, Period: limit.Second}

// New makes a Skill.
func New(c Config) *Skill {
	return &Skill{Config: c, offers: newOffers(c.Now), byAgent: ratelimit.NewSet(proposals), agrees: ratelimit.NewSet(agreements)}
}

// Close ends what the skill does by itself. It answers nothing any more.
func (s *Skill) Close() {
	s.byAgent.Close()
	s.agrees.Close()
}

// mayAgree bounds agreements. The error is a *reason.Refusal.
func (s *Skill) mayAgree() error {
	if !s.agrees.Admit(s.ID, s.Now()) {
		s.Shed(reason.ShedAgreements)
		return reason.Overloaded.Refusal("Too many agreements at once by this door.").After(time.Second).ShedFor(reason.ShedAgreements)
	}
	return nil
}

// Skill returns what a runtime is given.
func (s *Skill) Skill() runtime.Skill {
	handlers := []runtime.Handler{
		{Protocol: &protocol.FIPA, Handle: s.negotiate},
		{Protocol: &protocol.Default, Handle: s.call},
	}
	if s.HTTP {
		handlers = append(handlers, runtime.Handler{Protocol: &protocol.HTTP, Handle: s.request})
	}
	return runtime.Skill{
		ID: ID, Handlers: handlers,
		Behaviours: []runtime.Behaviour{{Name: "forget offers", Every: time.Minute, Act: func(context.Context) error {
			s.offers.forgetOld()
			return nil
		}}},
	}
}
