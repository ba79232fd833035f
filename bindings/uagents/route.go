package uagents

import (
	"context"
	"errors"
	"fmt"

	"github.com/uimgate/uimgate/bindings/uagents/almanac"
	"github.com/uimgate/uimgate/bindings/uagents/delivery"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
)

// reaches reports whether an endpoint of the sender may be known.
func (o *outbox) reaches(x *exchange) bool {
	door := x.settings()
	if !x.Sender.Agent() { // users have no endpoint
		return false
	}
	return len(door.Rules[string(x.Sender)]) > 0 || door.Registry || door.Almanac != nil || door.Mailbox
}

// route finds the endpoints of the sender of an envelope: in the configuration, in its registration here, or in the Almanac. If no endpoint
// is known, the route has no endpoints.
func (o *outbox) route(ctx context.Context, x *exchange) (delivery.Route, error) {
	door := x.settings()
	if rules := door.Rules[string(x.Sender)]; len(rules) > 0 {
		to := delivery.Route{Private: true}
		for _, url := range rules {
			to.Endpoints = append(to.Endpoints, delivery.Endpoint{URL: url.String(), Weight: 1})
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
	if door.Almanac == nil {
		return to, nil
	}
	var err error
	to.Endpoints, err = o.almanac.Endpoints(ctx, door.Almanac.String(), x.Sender)
	return to, err
}

// unreachable returns the fault for an envelope whose reply cannot be delivered: its sender has neither an endpoint to which the reply may
// be posted nor space in its mailbox. It returns nil if the sender has one of them. release ends the reservation of that space; it is nil
// if none was made.
func (o *outbox) unreachable(x *exchange) (release func(), f *fault) {
	const text = "asynchronous envelopes of this sender cannot be answered"
	const instead = " Or send the envelope with the header x-uagents-connection: sync, to get the reply in the response."
	route, err := o.route(x.r.Context(), x)
	if err != nil {
		f := reason.Overloaded.Refusal("The endpoint of the sender cannot be looked up at the moment.").After(fullWait).ShedFor(reason.ShedAlmanacLookup)
		return nil, &fault{f, text, "The Almanac does not respond. Send the envelope again after a few seconds." + instead}
	}
	if x.mailed(route) {
		if release, ok := o.mailboxes.Reserve(x.Service.ID, x.Sender); ok {
			return release, nil
		}
		f := reason.Overloaded.Refusal("").After(fullWait).ShedFor(reason.ShedEnvelopes)
		return nil, &fault{f, "the mailbox of the sender is full", "Fetch and delete the messages in the mailbox."}
	}
	failed, isError := errors.AsType[*delivery.Error](o.courier.Reaches(x.r.Context(), route))
	switch {
	case !isError:
		return nil, nil
	case failed.Cause == delivery.Refused:
		return nil, malformed(text, "Replies are not posted to the endpoint of the sender. "+private+instead)
	}
	detail := "No endpoint of the sender is known. Register one in the Almanac that the service uses (doors.uagents.almanac)."
	if x.settings().Registry {
		detail = "No endpoint of the sender is known. Register one in the Almanac of the service, at /v1/almanac (doors.uagents.registry)."
	}
	return nil, malformed(text, detail+instead)
}

// private names the setting that permits endpoints outside the public internet.
const private = "It must be an http or https URL with an address on the public internet, unless the operator of the service sets " +
	"doors.uagents.private_endpoints, or lists the endpoint in doors.uagents.rules."

// registrable returns an error of kind almanac.ErrAttestation for an endpoint to which the service would never post a reply.
func (d *Door) registrable(door *Settings, agent identity.Address, e delivery.Endpoint) error {
	if door.PrivateEndpoints || len(door.Rules[string(agent)]) > 0 || d.outbox.courier.Allows(e) == nil {
		return nil
	}
	return fmt.Errorf("%w: endpoints: replies are not posted to this url. %s", almanac.ErrAttestation, private)
}

// lost drops the cached endpoints of a sender that was not reached.
func (o *outbox) lost(x *exchange) {
	if base := x.settings().Almanac; base != nil {
		o.almanac.Forget(base.String(), x.Sender)
	}
}

// moved is the reply to a waiting envelope whose target is no longer served.
const moved = "The service is no longer available at this address."

// current makes the current version of the service handle the exchange, because the policy and the rules may have changed since the
// envelope arrived. It returns false if the service no longer exists or no longer has the target address.
func (m *laterReply) current() bool {
	now := m.Serving()
	if now == nil {
		return false
	}
	if own := SettingsOf(now.Definition); own == nil || own.Address != string(m.Target) {
		return false
	}
	m.Service = now
	return true
}
