package processes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/suggest"
	"github.com/uimgate/uimgate/pat"
)

// A Stop is one thing that the operator has stopped: the gateway refuses its calls with the reason STOPPED until the operator resumes it.
type Stop struct {
	Kind    pat.StopKind `json:"kind"`              // charging, consent, agent, intent, door or service
	Subject string       `json:"subject,omitempty"` // agent id, uid of the intent, or name of the door
	Service string       `json:"service,omitempty"` // empty: every service
	Reason  string       `json:"reason,omitempty"`  // for operators; agents do not receive it
	By      string       `json:"by"`
	At      time.Time    `json:"at"`
	EndedAt time.Time    `json:"ended_at,omitzero"`
	EndedBy string       `json:"ended_by,omitempty"`
	// Applied is how far the processes have applied the stop or, if it has ended, its end. nil: no process reports this.
	Applied *Propagation `json:"applied,omitempty"`

	change int64
}

// changedAt returns when the stop began or ended.
func (s *Stop) changedAt() time.Time {
	if s.EndedAt.IsZero() {
		return s.At
	}
	return s.EndedAt
}

// ShowStop returns a stop in the form that operators see.
func ShowStop(s pat.Stop) Stop {
	out := Stop{
		Kind: s.Kind, Subject: s.Subject, Service: s.Service, Reason: s.Reason, By: s.By, At: s.At.UTC(), EndedBy: s.EndedBy, change: s.Change,
	}
	if !s.EndedAt.IsZero() {
		out.EndedAt = s.EndedAt.UTC()
	}
	return out
}

// ChangedID returns the stopped thing, for the log.
func (s Stop) ChangedID() string { return strings.TrimSpace(string(s.Kind) + " " + s.Subject) }

// A StopRequest names the thing that is stopped or resumed.
type StopRequest struct {
	Service string       `json:"service,omitempty"` // empty: every service
	Kind    pat.StopKind `json:"kind"`
	Subject string       `json:"subject,omitempty"`
	Reason  string       `json:"reason,omitempty"` // only for a stop; one line of at most 512 bytes
	By      string       `json:"by,omitempty"`     // the operator's own name, at most 200 characters; empty: "operator"
	// Wait makes the response wait, for at most 2 seconds, until all running processes have applied the change. Stop.Applied has the result.
	Wait bool `json:"wait,omitempty"`
}

// A StopQuery requests stops.
type StopQuery struct {
	State string `query:"state" enum:"in_force,ended"` // in_force or ended; empty: in_force
}

// mostEndedStops is how many ended stops are listed.
const mostEndedStops = 100

// Stops returns the stops in force, the newest first, or the 100 that ended last, the newest end first. A stop is kept for 30 days after
// its end.
func (o *Operations) Stops(ctx context.Context, q StopQuery) (api.Page[Stop], error) {
	read := o.Store.Stops
	if q.State == "ended" {
		read = func(ctx context.Context) ([]pat.Stop, error) { return o.Store.EndedStops(ctx, mostEndedStops) }
	}
	list, err := read(ctx)
	if err != nil {
		return api.Page[Stop]{}, err
	}
	page := api.PageOf(list, len(list)+1, ShowStop, nil)
	return page, o.addApplied(ctx, page.Items)
}

// Stop makes every process of the gateway refuse the calls that the request names, within a second. A stop that is already in force is not
// changed. The audit stream records it.
func (o *Operations) Stop(ctx context.Context, r StopRequest) (Stop, error) {
	stop, err := o.stopOf(r)
	if err != nil {
		return Stop{}, err
	}
	if err := o.known(ctx, stop); err != nil {
		return Stop{}, err
	}
	made, err := o.Store.Stop(ctx, stop)
	if err != nil {
		return Stop{}, err
	}
	return o.changed(ctx, record.StopBegan, made, r), nil
}

// Resume ends a stop. The error wraps store.ErrNotFound if no such stop is in force.
func (o *Operations) Resume(ctx context.Context, r StopRequest) (Stop, error) {
	stop, err := o.stopOf(r)
	if err != nil {
		return Stop{}, err
	}
	stop.EndedBy = stop.By
	ended, err := o.Store.Resume(ctx, stop)
	if err != nil {
		return Stop{}, err
	}
	return o.changed(ctx, record.StopEnded, ended, r), nil
}

// changed applies a change of a stop to this process, and writes it to the audit stream. If the request asks for it, it waits for the other
// processes.
func (o *Operations) changed(ctx context.Context, decision string, stop pat.Stop, r StopRequest) Stop {
	if o.Audit != nil {
		o.Audit.RecordStop(o.Now(), decision, stop, cmp.Or(r.By, "operator"))
	}
	_ = o.View.Refresh(ctx) // otherwise the next poll reads it, as in every other process
	out := ShowStop(stop)
	if r.Wait {
		o.awaitApplied(ctx, &out)
	}
	return out
}

// stopOf returns the stop that a request names.
func (o *Operations) stopOf(r StopRequest) (pat.Stop, error) {
	kinds := make([]string, 0, len(pat.StopKinds))
	for _, k := range pat.StopKinds {
		kinds = append(kinds, string(k))
	}
	switch {
	case !slices.Contains(pat.StopKinds, r.Kind):
		return pat.Stop{}, api.WrongMember("kind", "must be "+strings.Join(kinds, ", "))
	case r.Kind.HasSubject() && r.Subject == "":
		return pat.Stop{}, api.WrongMember("subject", "must name the "+string(r.Kind))
	case !r.Kind.HasSubject() && r.Subject != "":
		return pat.Stop{}, api.WrongMember("subject", "must be empty for the kind "+string(r.Kind))
	case len(r.Subject) > api.MaxText || !api.Printable(r.Subject):
		return pat.Stop{}, api.WrongMember("subject", fmt.Sprintf("must be one line of at most %d bytes", api.MaxText))
	case r.Kind == pat.StopService && r.Service == "":
		return pat.Stop{}, api.WrongMember("service", "must name the service")
	case len(r.Reason) > api.MaxText || !api.Printable(r.Reason):
		return pat.Stop{}, api.WrongMember("reason", fmt.Sprintf("must be one line of at most %d bytes", api.MaxText))
	}
	if why := api.NameFault(r.By); why != "" {
		return pat.Stop{}, api.WrongMember("by", why)
	}
	if r.Service != "" {
		if _, err := o.Services.Find(r.Service); err != nil {
			return pat.Stop{}, err
		}
	}
	return pat.Stop{Service: r.Service, Kind: r.Kind, Subject: r.Subject, Reason: r.Reason, By: cmp.Or(r.By, "operator")}, nil
}

// known returns a refusal if no service has the agent, intent or door of a stop, because a misspelt name would stop nothing.
func (o *Operations) known(ctx context.Context, stop pat.Stop) error {
	var names []string
	for _, s := range o.Services.Directory.Current().Services() {
		if stop.Service != "" && s.ID != stop.Service {
			continue
		}
		switch stop.Kind {
		case pat.StopAgent:
			if agent, err := o.Store.Agent(ctx, s.ID, pat.AgentID(stop.Subject)); err == nil {
				names = append(names, string(agent.ID))
			}
		case pat.StopIntent:
			for _, intent := range s.Catalog.Intents() {
				names = append(names, intent.UID.String())
			}
		case pat.StopDoor:
			names = append(names, pat.DoorHTTP)
			for _, d := range o.Doors {
				names = append(names, d.Name())
			}
		default:
			return nil
		}
	}
	if slices.Contains(names, stop.Subject) {
		return nil
	}
	f := reason.NoSuchRecord.Refusal("This gateway has no such " + string(stop.Kind) + ".")
	if near := suggest.Name(stop.Subject, names); near != "" {
		f.With("suggestion", "Did you mean "+near+"?")
	}
	return f
}
