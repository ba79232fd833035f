package service

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/suggest"
)

// An Intent is an intent of the catalogue with the settings and the route that calls need.
type Intent struct {
	*intents.Intent
	ID        string          // the uid as a string
	Version   any             // the version in the uid, as a fact
	Newcomers limit.Limit     // limit of all unapproved agents together
	Route     *upstream.Route // nil if the intent is retired
	FreshOnly bool            // reserved for fresh agreements: agreement: fresh
	Proof     config.ProofRule
	// ConfirmAlways means that a person must confirm each call under consent. It is the setting confirm: always.
	ConfirmAlways bool
	Hold          time.Duration // how long a call may take: its time limit and the time to settle it
	Lenient       bool          // responses that lack a required output are passed on
	Ceiling       limit.Rate    // the limit of all agents together; Max 0 means no limit
}

// Executable returns the intent with this uid, unless it is retired or its retire_after has passed. The error is a *reason.Refusal.
func (d *Definition) Executable(uid string) (*Intent, error) {
	found, err := d.Intent(uid)
	if err != nil {
		return nil, err
	}
	if found.RetiredAt(d.now()) {
		f := reason.IntentDeprecated.Refusal("")
		if (found.ReplacedBy == intents.UID{}) {
			return nil, f.With("suggestion", "This intent has no successor. Search for another intent of the service.")
		}
		return nil, f.With("replaced_by", found.ReplacedBy.String())
	}
	return found, nil
}

// Intent returns the intent with this uid, which may be retired. The error is a *reason.Refusal; if other versions of the intent exist, the
// refusal lists them.
func (d *Definition) Intent(uid string) (*Intent, error) {
	if found, ok := d.intents[uid]; ok {
		return found, nil
	}
	f := reason.IntentNotFound.Refusal("")
	if parsed, err := intents.ParseUID(uid); err != nil {
		f = reason.IntentNotFound.Refusal("The uid of an intent must have the form namespace:intent-name:version.")
	} else if versions := d.Catalog.Versions(parsed); len(versions) > 0 {
		return nil, reason.VersionConflict.Refusal("").With("versions", versions)
	}
	if near := d.nearest(uid); near != "" {
		f.With("nearest", near)
	}
	return nil, f
}

// nearest returns the uid that the agent probably meant: that of an intent whose intent_name is the given string, or one with a similar
// spelling. It returns "" if there is none.
func (d *Definition) nearest(uid string) string {
	for _, in := range d.Catalog.ByTitle(uid) {
		if !in.Retired {
			return in.UID.String()
		}
	}
	const most = 200 // bounds the work for one refusal
	known := make([]string, 0, min(most, len(d.intents)))
	for _, in := range d.Catalog.Intents()[:min(most, len(d.intents))] {
		known = append(known, in.UID.String())
	}
	return suggest.Name(uid, known)
}

// Offered returns the intents that are not retired, in the order of agents.json.
func (d *Definition) Offered() []*Intent {
	var list []*Intent
	for _, in := range d.Catalog.Intents() {
		if !in.Retired {
			list = append(list, d.intents[in.UID.String()])
		}
	}
	return list
}

// routeFor returns the upstream route for an intent.
func routeFor(
	u *upstream.Upstream, in *intents.Intent, fixed *fixedInputs, refusal config.ErrorWhen, timeout time.Duration,
) (*upstream.Route, error) {
	e := upstream.Endpoint{
		IntentUID: in.UID.String(), Timeout: timeout, Fixed: fixed.values, Parameters: slices.Clone(fixed.hidden), ErrorWhen: refusal,
		Stream: upstream.Stream{On: in.Stream, FirstCounts: in.StreamChargesFirst},
	}
	for _, p := range in.Inputs {
		e.Parameters = append(e.Parameters, p.Name)
	}
	if in.Endpoint != nil {
		e.URL, e.Method, e.ContentType, e.Unsafe = in.Endpoint.URL, in.Endpoint.Method, in.Endpoint.ContentType, !in.Safe
		e.Parts = map[string]upstream.Part{}
		if in.Endpoint.Accept != "" {
			e.Accept = strings.Split(in.Endpoint.Accept, ", ")
		}
	}
	for _, name := range e.Parameters {
		if p, ok := input(in, name); ok && e.Parts != nil {
			base64, media := p.Content()
			e.Parts[name] = upstream.Part{Base64: base64, MediaType: media}
		}
	}
	route, err := u.Route(e)
	if err != nil {
		return nil, err
	}
	for _, name := range route.PathParameters() {
		if p, ok := in.Input(name); ok && !p.Required && !p.HasDefault {
			return nil, fmt.Errorf("the path of the endpoint needs the parameter %s: make it required, or give it a default", name)
		}
	}
	return route, nil
}
