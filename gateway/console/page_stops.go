package console

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/admin/processes"
	"github.com/uimgate/uimgate/pat"
)

// everyService is the value of the field scope of a stop that applies to all services.
const everyService = "every"

func (r *request) stopsPage() error {
	if r.URL.Query().Get("format") == "csv" {
		return r.stopListing(r.URL.Query().Get("state")).download(r)
	}
	var shown []processes.Stop
	list := r.stopListing("")
	read := list.fetch
	list.fetch = func(ctx context.Context, q api.PageRequest) (api.Page[processes.Stop], error) {
		found, err := read(ctx, q)
		shown = found.Items
		return found, err
	}
	inForce, err := list.table(r)
	if err != nil {
		return err
	}
	p := pageView{Title: "Kill switch", Lead: "Within a second, every replica refuses what is stopped. Agreements and PATs remain."}
	current := section{Title: "In force", Filters: r.filtered(r.search("search", "Agent, intent, door, service or person")), Table: inForce}
	for _, s := range shown {
		current.Forms = append(current.Forms, r.resumeForm(s))
	}
	p.Sections = append(p.Sections, current, section{Title: "Stop", Forms: r.stopForms()})
	more, err := r.replicaSections(shown)
	if err != nil {
		return err
	}
	p.Sections = append(p.Sections, more...)
	return r.show(http.StatusOK, p)
}

// resumeForm ends a stop.
func (r *request) resumeForm(s processes.Stop) form {
	return form{Path: r.address(at("stops", "resume")), Title: "Resume " + stopped(s), Button: "Resume…", Danger: true, Fields: []field{
		hidden("kind", string(s.Kind)), hidden("subject", s.Subject), hidden("scope", cmp.Or(s.Service, everyService)),
	}}
}

func hidden(name, value string) field { return field{Name: name, Type: "hidden", Value: value} }

// mostOptions is the maximum number of intents that a form lists.
const mostOptions = 200

// stopForms has one form for each kind of stop.
func (r *request) stopForms() (list []form) {
	d := r.console.Directory.Current().Service(r.service())
	if d == nil {
		return nil
	}
	var uids, names []option
	for _, in := range d.Catalog.Intents() {
		if len(d.Catalog.Intents()) > mostOptions {
			break // a field for the uid takes the place of the options
		}
		uids = append(uids, option{Value: in.UID.String(), Label: in.UID.String()})
	}
	names = append(names, option{Value: pat.DoorHTTP, Label: pat.DoorHTTP})
	for _, s := range r.console.Operator.Statuses.LocalStatus(r.Context()).Services {
		if s.ID != d.ID {
			continue
		}
		for _, one := range s.Doors {
			if one.Door != pat.DoorHTTP {
				names = append(names, option{Value: one.Door, Label: one.Door})
			}
		}
	}
	for _, k := range []struct {
		kind                  pat.StopKind
		title, text, label    string
		subjects              []option
		everywhere, onlyField bool
	}{
		{kind: pat.StopCharging, title: "All charging", text: "Calls that would be charged are refused. Free calls continue."},
		{kind: pat.StopConsent, title: "All consents", text: "Everything that agents do under consents of people is refused."},
		{kind: pat.StopService, title: "A service", text: "Everything at the service is refused."},
		{
			kind: pat.StopIntent, title: "An intent", label: "Intent", subjects: uids, onlyField: len(uids) == 0,
			text: "Calls to the intent are refused.",
		},
		{kind: pat.StopDoor, title: "A door", label: "Door", subjects: names, text: "Requests of one protocol are refused."},
		{kind: pat.StopAgent, title: "An agent", label: "Agent id", onlyField: true, text: "Calls of the agent are refused."},
	} {
		f := form{Path: r.address(at("stops", "stop")), Title: k.title, Text: k.text, Button: "Stop…", Danger: true}
		f.Fields = append(f.Fields, hidden("kind", string(k.kind)))
		id := string(k.kind)
		switch {
		case len(k.subjects) > 0:
			f.Fields = append(f.Fields, field{ID: id + "-subject", Name: "subject", Label: k.label, Options: k.subjects})
		case k.onlyField:
			f.Fields = append(f.Fields, field{ID: id + "-subject", Name: "subject", Label: k.label, Required: true})
		}
		scopes := []option{{Value: r.service(), Label: r.service()}}
		if k.kind != pat.StopService {
			scopes = append(scopes, option{Value: everyService, Label: "every service"})
		}
		f.Fields = append(f.Fields,
			field{ID: id + "-scope", Name: "scope", Label: "Where", Options: scopes},
			field{ID: id + "-reason", Name: "reason", Label: "Reason", Hint: "For operators. Agents do not see it."})
		list = append(list, f)
	}
	return list
}

// stop stops one thing for the person.
func (r *request) stop(kind pat.StopKind, subject, service string) error {
	return run(r, api.Record{Service: service, ID: subject}, operation.Stop, processes.StopRequest{
		Service: service, Kind: kind, Subject: subject, Reason: strings.TrimSpace(r.PostForm.Get("reason")), By: r.caller.Name,
		Wait: true,
	})
}

// resume ends a stop for the person.
func (r *request) resume(kind pat.StopKind, subject, service string) error {
	return run(r, api.Record{Service: service, ID: subject}, operation.Resume, processes.StopRequest{
		Service: service, Kind: kind, Subject: subject, By: r.caller.Name, Wait: true,
	})
}

// scope returns the service that a form about a stop names; empty: every service.
func (r *request) scope() string {
	if scope := r.PostForm.Get("scope"); scope != everyService {
		return cmp.Or(scope, r.service())
	}
	return ""
}

var stopActions = []action{
	{
		path: "stops/stop", operation: operation.Stop.Name(), done: "It is stopped. The column Applied shows how long each process took.",
		question: "Stop this now?",
		back:     toStops,
		do: func(r *request) error {
			return r.stop(pat.StopKind(r.PostForm.Get("kind")), strings.TrimSpace(r.PostForm.Get("subject")), r.scope())
		},
	},
	{
		path: "stops/resume", operation: operation.Resume.Name(), done: "It is resumed.", question: "Resume this?", back: toStops,
		do: func(r *request) error {
			return r.resume(pat.StopKind(r.PostForm.Get("kind")), r.PostForm.Get("subject"), r.scope())
		},
	},
}

func toStops(*request) string { return at("stops") }
