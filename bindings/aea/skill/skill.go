// Package skill implements the skill intents, which replies to agents of the AEA framework on behalf of a service. The skill negotiates
// with the protocol fipa: a proposal contains the terms of the policy for one intent, and an acceptance is a signed agreement. It
// executes HTTP requests in messages of the protocol http, and calls in JSON in messages of the protocol default.
//
//	s := skill.New(skill.Config{…})
//	r.Resources().Add(s.Skill())
//
// The skill contains no rules. A door.Host makes agreements and executes calls, and the public API of the gateway handles the HTTP
// requests.
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

// ID identifies the skill inside the agent of a service.
var ID = wire.PublicID{Author: "uimgate", Name: "intents", Version: "1.0.0"}

// A Config configures a Skill. All fields except HTTP and Clear are required.
type Config struct {
	Door    string                  // name of the door, for logs, metrics, audit records and idempotency keys
	ID      string                  // id of the service
	Address string                  // address of the service as an agent
	Serving func() *service.Service // returns the current version of the service; nil if it is no longer served
	Host    door.Host               // makes agreements and executes calls
	API     http.Handler            // handles HTTP requests in messages; their contexts have a door.Origin
	Shed    func(reason.Cause)      // counts requests that the skill refuses because of load
	Memory  *membudget.Budget       // limits the memory for decoding calls
	Now     func() time.Time
	Log     *zap.Logger
	// HTTP enables messages of the protocol http.
	HTTP bool
	// Clear allows PATs to be sent over connections that others can read.
	Clear bool
}

// A Skill replies to agents on behalf of one service. It is safe for concurrent use.
type Skill struct {
	Config
	offers  *offers
	byAgent *ratelimit.Set // calls for proposals and counter-offers, by sender
	agrees  *ratelimit.Set // agreements of all senders: an agent can create any number of addresses
}

// proposals limits how often one agent gets a proposal, because each proposal requires an evaluation of the policy.
var proposals = limit.Rate{Max: 120, Period: limit.Minute}

// agreements limits the agreements of all agents of one service, so that they leave most of the capacity to other doors.
var agreements = limit.Rate{Max: 20, Period: limit.Second}

// New returns a Skill.
func New(c Config) *Skill {
	return &Skill{Config: c, offers: newOffers(c.Now), byAgent: ratelimit.NewSet(proposals), agrees: ratelimit.NewSet(agreements)}
}

// Close ends the background work of the skill. It must be called when the skill gets no more messages.
func (s *Skill) Close() {
	s.byAgent.Close()
	s.agrees.Close()
}

// mayAgree counts an agreement, and returns a *reason.Refusal if too many agreements are being made.
func (s *Skill) mayAgree() error {
	if !s.agrees.Admit(s.ID, s.Now()) {
		s.Shed(reason.ShedAgreements)
		return reason.Overloaded.Refusal("Too many agreements are being made through this door.").
			After(time.Second).ShedFor(reason.ShedAgreements)
	}
	return nil
}

// Skill returns the skill for registration with a runtime.
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
