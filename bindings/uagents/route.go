package uagents

import (
	"context"

	"github.com/uimgate/uimgate/bindings/uagents/delivery"
)

// reaches reports whether an endpoint of the sender may be known to somebody.
func (o *outbox) reaches(x *exchange) bool {
	door := &x.Service.Doors.UAgents
	if !x.Sender.Agent() { // users have no endpoint
		return false
	}
	return len(door.Rules[string(x.Sender)]) > 0 || door.Registry || door.Almanac != ""
}

// route finds where the sender of an envelope is reached: as the operator says, else as it said itself here, else as the Almanac
// does.
func (o *outbox) route(ctx context.Context, x *exchange) (delivery.Route, error) {
	door := &x.Service.Doors.UAgents
	if rules := door.Rules[string(x.Sender)]; len(rules) > 0 {
		to := delivery.Route{Private: true}
		for _, url := range rules {
			to.Endpoints = append(to.Endpoints, delivery.Endpoint{URL: url, Weight: 1})
		}
		return to, nil
	}
	to := delivery.Route{Private: door.PrivateEndpoints}
	if door.Registry {
		var err error
		if to.Endpoints, err = x.d.registry.Endpoints(ctx, x.Service.ID, x.Sender); err != nil || len(to.Endpoints) > 0 {
			return to, err
		}
	}
	if door.Almanac == "" {
		return to, nil
	}
	var err error
	to.Endpoints, err = o.almanac.Endpoints(ctx, door.Almanac, x.Sender)
	return to, err
}

// lost is told that a sender was not reached where it was said to be.
func (o *outbox) lost(x *exchange) {
	if base := x.Service.Doors.UAgents.Almanac; base != "" {
		o.almanac.Forget(base, x.Sender)
	}
}

// moved is what the sender of an envelope is told that waited while its target ceased to be one.
const moved = "The service is not here any more."

// current has the exchange answered by the service as it is served now: its policy and its rules may be others than those with which
// the envelope came. false: it is not this service to which envelopes to the target are.
func (m *postponed) current() bool {
	now := m.Serving()
	if now == nil || now.Doors.UAgents.Address != string(m.Target) {
		return false
	}
	m.Service = now
	return true
}
