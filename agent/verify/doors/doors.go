// Package doors checks what a UIM service announces in addition to the endpoints of UIM. These are the endpoints for the Model Context
// Protocol, Agent2Agent and the uAgents protocol, which agents.json names as uim-mcp, uim-a2a and uim-uagents, and the documents in which
// others find the endpoints. It skips doors that are not announced. The points are listed in checks.go; package verify runs them together
// with its own.
//
// Calls follow the rules of package verify: only its sample calls are executed. The PAT is sent only to endpoints that agents.json or the
// agent card names and that are at the service's own site. The sizes of responses and the lengths of lists are limited. A finding may
// contain text from the service, but never a PAT.
package doors

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat/keys"
)

// maxAnswer limits the size of a response, in bytes.
const maxAnswer = 4 << 20

// A Service is the known state of the service. Unknown fields are empty.
type Service struct {
	point.Site

	Named   strictjson.Object // agents.json
	Catalog *intents.Catalog
	Keys    []keys.Key            // keys that the service publishes
	Token   string                // the PAT; empty if there is none
	Permits func(uid string) bool // whether the PAT, if there is one, permits calls to an intent

	Sample  Call // a call that may be executed, and was executed over HTTP
	Refused Call // a call that was refused over HTTP because of its parameters
}

// A Call is one call to an intent over HTTP, with its response.
type Call struct {
	Intent     *intents.Intent // nil: no call can be made
	Parameters map[string]any
	Body       []byte // as UIM encodes it
	Answer     fetch.Answer
	At         time.Time // the time of the response
}

// Doors are the checks of one service, with the results that earlier checks leave for later ones.
type Doors struct {
	*Service

	fetch   *fetch.Client
	mcp     mcp
	a2a     a2a
	uagents uagents
	sent    int // number of messages sent
}

// New returns the Doors of a service, on which no check has run yet.
func New(s *Service, c *fetch.Client) *Doors { return &Doors{Service: s, fetch: c} }

// get fetches a public document, with the few redirects that an agent would follow.
func (d *Doors) get(ctx context.Context, address string) (fetch.Answer, error) {
	return d.WithRetries(ctx, func() (fetch.Answer, error) {
		return d.fetch.Get(ctx, address, fetch.Document{Accept: "application/json, */*;q=0.5", Max: maxAnswer, From: d.Agents})
	})
}

// ask sends one request. It does not follow redirects. Errors in responses have the form of other protocols, so the checks of UIM's error
// form skip them.
func (d *Doors) ask(ctx context.Context, method, address string, header http.Header, body []byte) (fetch.Answer, error) {
	return d.WithRetries(ctx, func() (fetch.Answer, error) {
		return d.fetch.Do(ctx, fetch.Request{Method: method, URL: address, Header: header, Body: body, Max: maxAnswer, From: d.Agents})
	})
}

// secure reports whether agents would use a URL, at any site.
func (d *Doors) secure(address string) bool {
	_, ok := d.Address(address)
	return ok
}

// named returns the URL of a door from agents.json. The finding passes if the service has the door at its own site, and is Skipped if
// agents.json does not name the door.
func (d *Doors) named(member string) (string, point.Finding) {
	switch address := d.Named[member].(type) {
	case nil:
		return "", notOffered("agents.json names no " + member)
	case string:
		return address, d.OwnURL(member, address)
	}
	return "", point.Wrong.Because("%s is not a string", member)
}

func notOffered(why string) point.Finding { return point.Skipped.Because("not offered: %s", why) }

// wantsToken is the finding of a check that needs a PAT and has none.
var wantsToken = point.Skipped.Because("it requires a PAT, and nothing is signed without permission (--allow-agree)")

// at returns the URL of a path on the origin of another URL.
func at(address, path string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return fetch.Origin(u) + path
}

// document fetches a public JSON object. The finding passes if the address serves such an object.
func (d *Doors) document(ctx context.Context, address string) (strictjson.Object, point.Finding) {
	a, err := d.get(ctx, address)
	switch {
	case err != nil:
		return nil, point.Failed(err)
	case a.Status >= http.StatusInternalServerError:
		return nil, point.ServerError(a)
	case a.Status != http.StatusOK:
		return nil, point.Missing.Because("%s responds with %d", a.URL.Path, a.Status)
	}
	tree, err := strictjson.DecodeObject(a.Body)
	if err != nil {
		return nil, point.Wrong.Because("%s: %v", a.URL.Path, err)
	}
	return tree, point.Pass
}

// bearer adds the PAT, if there is one, to a header, and returns the header.
func (d *Doors) bearer(h http.Header) http.Header {
	if d.Token != "" {
		h.Set("Authorization", "Bearer "+d.Token)
	}
	return h
}
