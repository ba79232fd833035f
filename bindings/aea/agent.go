package aea

import (
	"context"
	"fmt"

	"github.com/uimgate/uimgate/bindings/aea/connections/delegate"
	"github.com/uimgate/uimgate/bindings/aea/connections/httpclient"
	"github.com/uimgate/uimgate/bindings/aea/connections/httpserver"
	"github.com/uimgate/uimgate/bindings/aea/connections/local"
	"github.com/uimgate/uimgate/bindings/aea/connections/mailbox"
	"github.com/uimgate/uimgate/bindings/aea/connections/stub"
	"github.com/uimgate/uimgate/bindings/aea/connections/tcp"
	"github.com/uimgate/uimgate/bindings/aea/node"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/bindings/aea/skill"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/service"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
)

// ids maps the name of a connection in the configuration to its id.
var ids = map[ConnectionName]wire.PublicID{
	"tcp": tcp.ID, "delegate": delegate.ID, "mailbox": mailbox.ID, "stub": stub.ID, "local": local.ID,
}

// A listener is a connection that listens for agents.
type listener interface {
	runtime.Connection
	Address() string
	Close() error
}

// An agent is the agent of one service.
type agent struct {
	settings  *Settings
	runtime   *runtime.Runtime
	skill     *skill.Skill
	decisions *runtime.DecisionMaker
	listeners map[string]listener // by name in the configuration
	skills    skills
}

// open creates the agent of a service and opens its listeners, but runs nothing. agents is the number of agents that share the memory of
// the process.
func (d *Door) open(ctx context.Context, s *service.Service, agents int) (_ *agent, err error) {
	set := SettingsOf(s.Definition)
	limits := runtime.DefaultLimits
	limits.Drain = d.DrainTimeout()
	relays := set.Relay.enabled
	if relays {
		limits.Relay = set.Relay.PerAgent
	}
	a := &agent{
		settings: set, listeners: map[string]listener{}, skills: skills{added: map[string]wire.PublicID{}},
		runtime: runtime.New(set.Address, runtime.Options{
			Now: d.Now, Limits: limits, Log: d.Log, Routing: routing(set), Agents: agents,
		}),
	}
	defer func() {
		if err != nil {
			a.Close()
		}
	}()
	var own *node.Node
	if set.Delegate != "" || set.Mailbox != "" {
		if own, err = node.Open(set.identity, d.Data.CertificatePath(Name, s.ID), d.Now()); err != nil {
			return nil, fmt.Errorf("opening the node certificate: %w", err)
		}
	}
	for _, l := range []struct {
		name, address string
		listen        func(address string) (listener, error)
	}{
		{"delegate", set.Delegate, func(at string) (listener, error) { return delegate.Listen(ctx, at, own, delegate.Bounds{}, d.Now) }},
		{"mailbox", set.Mailbox, func(at string) (listener, error) { return mailbox.Listen(ctx, at, own, mailbox.Bounds{}, d.Now) }},
		{"tcp", set.TCP, func(at string) (listener, error) { return tcp.Listen(ctx, at, tcp.Bounds{}) }},
		{"http_server", set.Connections.HTTPServer, func(at string) (listener, error) {
			return httpserver.Listen(ctx, at, set.httpSkill, httpserver.Bounds{}, d.Now)
		}},
	} {
		if l.address == "" {
			continue
		}
		opened, err := l.listen(l.address)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.name, err)
		}
		a.listeners[l.name] = opened
		proven := l.name == "delegate" || l.name == "mailbox" // agents prove their addresses on these connections
		o := runtime.ConnectionOptions{Relay: relays && proven, Inside: l.name == "http_server"}
		if err := a.runtime.Connect(opened, o); err != nil {
			return nil, err
		}
	}
	if err := d.connect(a); err != nil {
		return nil, err
	}
	config := skill.Config{
		Door: Name, ID: s.ID, Address: set.Address, Serving: func() *service.Service { return door.Serving(d.Services(), s.ID) },
		Host: d.Host, API: d.API, Shed: d.Shed, Memory: d.Memory, Now: d.Now, Log: d.Log,
		HTTP: set.HTTP, Clear: set.Clear, Runtime: a.runtime,
	}
	decisions := d.decisions(s.ID, config, set.identity)
	config.Decisions, a.decisions = decisions, decisions
	a.skill = skill.New(config)
	for _, own := range []runtime.Skill{a.skill.Skill(), decisions.Skill()} {
		if err := a.runtime.Resources().Add(own); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// decisions returns the decision maker of a service's agent. Its decisions are in the audit stream.
func (d *Door) decisions(id string, c skill.Config, key identity.Key) *runtime.DecisionMaker {
	return runtime.NewDecisionMaker(runtime.DecisionConfig{
		Key: key, Ledger: identity.Fetchai, Log: d.Log, Treasury: skill.NewTreasury(c, key),
		Record: func(made runtime.Decision) {
			if d.RecordSigning != nil {
				d.RecordSigning(door.SignatureDecision{
					Door: Name, Service: id, Agent: c.Address, Skill: made.Skill.String(), Kind: made.Kind, SHA256: made.SHA256, Signed: made.Signed,
				})
			}
		},
	})
}

// connect adds the connections of an agent that do not listen.
func (d *Door) connect(a *agent) error {
	if at := a.settings.Stub; at != "" {
		if err := a.runtime.Connect(stub.New(at), runtime.ConnectionOptions{}); err != nil {
			return err
		}
	}
	if a.settings.Connections.Local {
		if err := a.runtime.Connect(d.local.Connection(a.settings.Address), runtime.ConnectionOptions{}); err != nil {
			return err
		}
	}
	if a.settings.Connections.HTTPClient {
		client := httpclient.New(d.fetch, d.Now)
		return a.runtime.Connect(client, runtime.ConnectionOptions{Inside: true})
	}
	return nil
}

// routing returns the router that selects connections for messages that are not replies.
func routing(set *Settings) runtime.Router {
	first := set.DefaultConnection
	if open := set.connections(); first == "" && len(open) > 0 {
		first = open[0]
	}
	r := runtime.Router{Default: ids[first], ByProtocol: map[wire.PublicID]wire.PublicID{}}
	for protocol, connection := range set.DefaultRouting {
		if id, err := wire.ParsePublicID(protocol); err == nil {
			r.ByProtocol[id] = ids[ConnectionName(connection)]
		}
	}
	return r
}

// Close implements door.Agent.
func (a *agent) Close() {
	for _, l := range a.listeners {
		_ = l.Close()
	}
	a.closeSkills()
}

func (a *agent) closeSkills() {
	if a.skill != nil {
		a.skill.Close()
	}
	a.skills.mu.Lock()
	defer a.skills.mu.Unlock()
	if a.skills.directory != nil {
		a.skills.directory.Close()
	}
}

// Run implements door.Agent. The runtime limits how long work in progress may take.
func (a *agent) Run(taking, _ context.Context) {
	a.runtime.Run(taking)
	a.closeSkills()
}

// UnderWay implements door.Agent.
func (a *agent) UnderWay() int {
	in := a.runtime.Status().InBox
	return in.Working + in.Waiting
}

// addresses returns the address and the key of the agent, and the addresses that other agents connect to, by name.
func (a *agent) addresses() map[string]string {
	all := map[string]string{"address": a.settings.Address, "node_key": a.settings.NodeKey}
	for name, l := range a.listeners {
		all[name] = l.Address()
	}
	if a.settings.Stub != "" {
		all["stub"] = a.settings.Stub
	}
	return all
}
