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
	"context"
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
	skills      skillDialogues
	tasks       chan Task
}

// New returns the runtime of the agent with the given address. The address must not be a public id.
func New(address string, o Options) *Runtime {
	if o.Limits == (Limits{}) {
		o.Limits = DefaultLimits
	}
	o.Limits = o.Limits.within(membudget.Limit() / int64(max(o.Agents, 1)))
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	r := &Runtime{
		address: address, limits: o.Limits, log: o.Log, now: o.Now, resources: newResources(),
		multiplexer: newMultiplexer(address, o.Limits, o.Now), dialogues: dialogue.New(address, o.Limits.Dialogues, o.Now),
		tasks: make(chan Task, o.Limits.Tasks),
	}
	r.multiplexer.routing = o.Routing
	r.filter = &Filter{r.resources}
	r.errors = newErrorHandler(o.Limits, r.multiplexer.Send, o.Now)
	r.multiplexer.relay.tell = r.errors.send
	r.skills = skillDialogues{limits: o.Limits.Dialogues, now: o.Now, of: map[wire.PublicID]*dialogue.Dialogues{}}
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

// Start begins a dialogue. If skill is zero, the dialogue is with the agent at the address to, and the handlers of all skills receive the
// replies. Otherwise the dialogue is between that skill and the connection with the public id to, and only the handlers of the skill
// receive the replies. Errors are those of dialogue.Dialogues.Start and Multiplexer.Send. If only sending fails, Start returns the dialogue
// together with the error.
func (r *Runtime) Start(skill, spec wire.PublicID, to string, c protocol.Content) (*dialogue.Dialogue, error) {
	d := r.dialogues
	if skill != (wire.PublicID{}) {
		d = r.skills.get(skill)
	}
	g, e, err := d.Start(spec, to, c)
	if err != nil {
		return nil, err
	}
	return g, r.multiplexer.Send(Envelope{Envelope: e})
}

// Do queues a task, which runs concurrently with the handlers. It returns ErrFull if too many tasks are waiting.
// Tasks that have not started when the context of Run ends may never run.
func (r *Runtime) Do(t Task) error {
	select {
	case r.tasks <- t:
		return nil
	default:
		return ErrFull
	}
}

// Run runs the agent until ctx ends. It may be called only once. After ctx has ended, Run accepts no envelopes. After at most
// Limits.Drain it cancels the contexts of handlers and tasks, and waits until they return. When Run returns, everything that it started
// has ended.
func (r *Runtime) Run(ctx context.Context) { r.loop(ctx) }
