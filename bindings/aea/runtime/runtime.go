// Package runtime runs one agent of the AEA framework, with its connections, its mailbox and its skills. The parts have the same names as
// in the framework.
//
//	r := runtime.New(address, runtime.Options{Now: time.Now})
//	r.Resources().Add(runtime.Skill{ID: id, Handlers: []runtime.Handler{{Protocol: &protocol.Default, Handle: answer}}})
//	r.Connect(connection, runtime.ConnectionOptions{})
//	r.Run(ctx) // until ctx ends
//
// An envelope arrives on a Connection and passes through its Port into the InBox. A worker finds the handlers for the protocol of the
// envelope, checks that the envelope is valid in its dialogue, and calls the handlers. Their replies go through the Multiplexer, which
// selects the connection, into the queue of one peer in the OutBox.
package runtime

import (
	"cmp"
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/internal/membudget"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/dialogue"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// Options configures a Runtime. Only Now is required.
type Options struct {
	Now     func() time.Time
	Limits  Limits // zero: DefaultLimits
	Routing Router
	Log     *zap.Logger // receives the panics of handlers, behaviours and tasks
	// Agents is the number of agents that share the memory of the process, including this one; 0 means 1.
	Agents int
}

// A Runtime runs one agent. It is safe for concurrent use.
type Runtime struct {
	address     string
	limits      Limits
	log         *zap.Logger
	now         func() time.Time
	multiplexer *Multiplexer
	resources   *Resources
	filter      *Filter
	errors      *ErrorHandler
	dialogues   *dialogue.Dialogues
	tasks       *taskQueue
	handling    sync.WaitGroup // calls of handlers
}

// New returns the runtime of the agent with the given address. The address must not be a public id.
func New(address string, o Options) *Runtime {
	o.Limits = cmp.Or(o.Limits, DefaultLimits)
	o.Limits.Handler = cmp.Or(o.Limits.Handler, DefaultLimits.Handler)
	o.Limits = o.Limits.within(membudget.Limit() / int64(max(o.Agents, 1)))
	o.Log = cmp.Or(o.Log, zap.NewNop())
	ofSkill := func(skill wire.PublicID) *dialogue.Dialogues {
		return dialogue.New(skill.String(), o.Limits.Dialogues, o.Now)
	}
	r := &Runtime{
		address: address, limits: o.Limits, log: o.Log, now: o.Now, resources: newResources(ofSkill),
		multiplexer: newMultiplexer(address, o.Limits, o.Now), dialogues: dialogue.New(address, o.Limits.Dialogues, o.Now),
		tasks: newTaskQueue(o.Limits),
	}
	r.multiplexer.routing = o.Routing
	r.filter = &Filter{r.resources}
	r.errors = newErrorHandler(o.Limits, r.multiplexer.Send, o.Now)
	r.multiplexer.relay.tell = r.errors.send
	r.multiplexer.skill = r.resources.named
	return r
}

// Address returns the address of the agent.
func (r *Runtime) Address() string { return r.address }

// Resources returns the registries.
func (r *Runtime) Resources() *Resources { return r.resources }

// Filter returns the filter of the enabled skills.
func (r *Runtime) Filter() *Filter { return r.filter }

// Multiplexer returns the multiplexer, which joins the connections of the agent with its mailbox.
func (r *Runtime) Multiplexer() *Multiplexer { return r.multiplexer }

// Connect adds a connection, before or during Run. It returns an error if there is already a connection with the same id.
func (r *Runtime) Connect(c Connection, o ConnectionOptions) error { return r.multiplexer.add(c, o) }

// A FirstMessage is the first message of a dialogue.
type FirstMessage struct {
	// Skill is the skill that begins the dialogue with a component of this agent. Zero: the agent begins it with another agent, and the
	// handlers of all skills receive the replies.
	Skill wire.PublicID
	// To is the address of the other agent or, if Skill is set, the public id of a connection or of another skill.
	To      string
	Spec    wire.PublicID // specification id of the protocol
	Content protocol.Content
	// Context may name the connection to the other agent, for this message. It must be empty if Skill is set.
	Context EnvelopeContext
}

// Open begins a dialogue. Errors are those of dialogue.Dialogues.Start and Multiplexer.Send. If only sending fails, Open returns the
// dialogue together with the error.
func (r *Runtime) Open(o FirstMessage) (*dialogue.Dialogue, error) {
	p, err := r.resources.protocol(o.Spec)
	if err != nil {
		return nil, err
	}
	d := r.dialogues
	if o.Skill != (wire.PublicID{}) {
		d = r.resources.dialoguesOf(o.Skill)
		if id, err := wire.ParsePublicID(o.To); err == nil {
			if skill, ok := r.resources.named(id); ok {
				o.To = skill.String() // the skill replies under its complete id
			}
		}
	}
	g, e, err := d.StartIn(p, o.Spec, o.To, o.Content)
	if err != nil {
		return nil, err
	}
	return g, r.multiplexer.Send(Envelope{e, o.Context})
}

// Start begins a dialogue like Open, without a context.
func (r *Runtime) Start(skill, spec wire.PublicID, to string, c protocol.Content) (*dialogue.Dialogue, error) {
	return r.Open(FirstMessage{Skill: skill, To: to, Spec: spec, Content: c})
}

// Run runs the agent until ctx ends. It may be called only once. After ctx has ended, Run accepts no envelopes. After at most
// Limits.Drain it cancels the contexts of handlers and tasks, and waits until they return. When Run returns, everything that it started
// has ended.
func (r *Runtime) Run(ctx context.Context) { r.loop(ctx) }
