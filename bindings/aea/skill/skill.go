// Package skill implements the intents skill, which replies to agents of the AEA framework on behalf of a service. The skill negotiates
// with the fipa protocol: a proposal contains the terms of the policy for one intent, and an acceptance is a signed agreement. It
// executes HTTP requests in messages of the http protocol, and calls in JSON in messages of the default protocol.
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
	"sync/atomic"
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
	"github.com/uimgate/uimgate/internal/wire/aea/search"
)

// ID identifies the skill inside the agent of a service.
var ID = wire.PublicID{Author: "uimgate", Name: "intents", Version: "1.0.0"}

// A Config configures a Skill. All fields except Runtime, Decisions, HTTP and Clear are required.
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
	// Runtime is the runtime that the skill is added to. nil: the skill registers its intents nowhere.
	Runtime *runtime.Runtime
	// Decisions signs offers. nil: offers are not signed.
	Decisions *runtime.DecisionMaker
	// HTTP enables messages of the http protocol.
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

	variables  atomic.Pointer[Variables]
	registrars []*registrar
}

// Variables are settings that may change while the skill runs.
type Variables struct {
	Location search.Location // of the service, in degrees
	// Attributes maps further names of attributes to those of intents: seller_service to intent_uid.
	Attributes map[string]string
	// Directory is where the intents are registered, in addition to the search skill of this agent. The zero value means nowhere.
	Directory Directory
	// Echo means that another skill replies to bytes that are not calls.
	Echo bool
}

// A Directory is an agent of another operator that keeps a directory.
type Directory struct {
	Address    string        // empty: none
	Connection wire.PublicID // zero: as the runtime selects
}

// proposals limits how often one agent gets a proposal, because each proposal requires an evaluation of the policy.
var proposals = limit.Rate{Max: 120, Period: limit.Minute}

// agreements limits the agreements of all agents of one service, so that they leave most of the capacity to other doors.
var agreements = limit.Rate{Max: 20, Period: limit.Second}

// New returns a Skill.
func New(c Config) *Skill {
	s := &Skill{Config: c, offers: newOffers(c.Now), byAgent: ratelimit.NewSet(proposals), agrees: ratelimit.NewSet(agreements)}
	s.variables.Store(&Variables{Attributes: DefaultAttributes()})
	if c.Runtime != nil {
		s.registrars = []*registrar{newRegistrar(s, true), newRegistrar(s, false)}
	}
	return s
}

// DefaultAttributes returns the further names of attributes that the framework's skills use.
func DefaultAttributes() map[string]string {
	return map[string]string{"seller_service": attributeIntent}
}

// Change sets the variables, and registers the intents again where they have changed. emptied means that the search skill of the agent is
// new, so that it has no registrations.
func (s *Skill) Change(ctx context.Context, v Variables, emptied bool) {
	moved := s.variables.Load().Directory != v.Directory
	for _, r := range s.registrars {
		switch {
		case r.inside && emptied:
			r.reset()
		case !r.inside && moved:
			r.moved() //nolint:contextcheck // the reload that moves it may end before
		}
	}
	s.variables.Store(&v)
	for _, r := range s.registrars {
		_ = r.act(ctx) // the behaviour tries again, and counts failures
	}
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
	behaviours := []runtime.Behaviour{{Name: "forget offers", Every: time.Minute, Act: func(context.Context) error {
		s.offers.forgetOld()
		return nil
	}}}
	for _, r := range s.registrars {
		behaviours = append(behaviours, runtime.Behaviour{Name: r.name(), Every: retryEvery, Act: r.retry, Stop: r.stop})
	}
	if len(s.registrars) > 0 {
		handlers = append(handlers, runtime.Handler{Protocol: &protocol.OEFSearch, Handle: s.found})
	}
	return runtime.Skill{ID: ID, Patient: true, Handlers: handlers, Behaviours: behaviours}
}
