// Package skill is the skill intents, which replies to agents of the AEA framework for a service. It negotiates by fipa, where a proposal
// is the terms of the policy for one intent and an acceptance is a signed agreement, and executes requests in messages of http and calls
// as JSON in messages of default.
//
//	s := skill.New(skill.Config{…})
//	r.Resources().Add(s.Skill())
//
// It contains no rules of its own. A door.Host makes agreements and executes calls, and the public API of the gateway handles messages of
// http, which are requests to it.
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

// A Config configures a Skill. All fields except HTTP and Clear are required.
type Config struct {
	Door    string                  // name of the door, for logs, metrics, audit records and idempotency keys
	ID      string                  // of the service
	Address string                  // of the service among agents
	Serving func() *service.Service // the service as served now; nil if it is no longer served
	Host    door.Host               // makes agreements and executes calls
	API     http.Handler            // handles messages of the protocol http, whose requests carry their door.Origin
	Shed    func(reason.Cause)      // counts the skill's own refusals because of load
	Memory  *membudget.Budget       // bounds the memory for reading calls
	Now     func() time.Time
	Log     *zap.Logger
	// HTTP: requests of the protocol http are served.
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

// proposals bounds how often one agent gets a proposal: each needs an evaluation of the policy.
var proposals = limit.Rate{Max: 120, Period: limit.Minute}

// agreements bounds those of all agents of one service, so that they leave most of the capacity to other doors.
var agreements = limit.Rate{Max: 20, Period: limit.Second}

// New makes a Skill.
func New(c Config) *Skill {
	return &Skill{Config: c, offers: newOffers(c.Now), byAgent: ratelimit.NewSet(proposals), agrees: ratelimit.NewSet(agreements)}
}

// Close ends the background work of the skill. It no longer replies.
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

// Skill returns the registration for a runtime.
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
