package verify

import (
	"context"
	"net/http"
	"time"

	"github.com/uimgate/uimgate/agent/verify/doors"
	"github.com/uimgate/uimgate/internal/fetch"
)

// doorChecks converts the checks of package doors into those of this package.
func doorChecks(list []doors.Check) []check {
	out := make([]check, 0, len(list))
	for _, c := range list {
		out = append(out, check{c.ID, c.Section, c.Level, c.Title, c.After, func(v *verification, ctx context.Context) finding {
			v.doors.Service = v.known()
			return c.Run(v.doors, ctx)
		}})
	}
	return out
}

// known returns the facts about the service that the checks of package doors need.
func (v *verification) known() doors.Service {
	s := doors.Service{
		Agents: v.agentsURL(), Named: v.tree, Catalog: v.catalog, Keys: v.keys, Token: v.token.text,
		Sample: v.doorCall(v.sampleCall, v.sampleAnswer, v.sampleAt), Refused: v.doorCall(v.refusedAs, v.refusal, time.Time{}),
	}
	if v.service != nil && v.service.Session().Agreed() {
		s.Permits = v.service.Session().Permits
	}
	if v.outcomes["execute-answers"] != Holds {
		s.Sample = doors.Call{}
	}
	return s
}

// doorCall returns a call that was made, so that a door can repeat it. It returns the zero Call if no call was made.
func (v *verification) doorCall(c call, a fetch.Answer, at time.Time) doors.Call {
	body, err := v.body(c.uid, c.parameters)
	if c.in == nil || a.Status == 0 || err != nil {
		return doors.Call{}
	}
	return doors.Call{Intent: c.in, Parameters: c.parameters, Body: []byte(body), Answer: a, At: at}
}

// A doorClient makes the exchanges of package doors. Errors in them have the form of other protocols, so the checks of UIM's error form
// skip them.
type doorClient struct {
	*verification
	fetch *fetch.Client
}

// Get fetches a public document.
func (c doorClient) Get(ctx context.Context, address string) (fetch.Answer, error) {
	return c.withRetries(ctx, func() (fetch.Answer, error) {
		return c.fetch.Get(ctx, address, fetch.Document{Accept: "application/json, */*;q=0.5", Max: doors.Max, From: c.agentsURL()})
	})
}

// Ask sends one request. It does not follow redirects.
func (c doorClient) Ask(ctx context.Context, method, address string, header http.Header, body []byte) (fetch.Answer, error) {
	return c.withRetries(ctx, func() (fetch.Answer, error) {
		return c.fetch.Do(ctx, fetch.Request{
			Method: method, URL: address, Header: header, Body: body, Max: doors.Max, From: c.agentsURL(),
		})
	})
}

// OwnURL checks a URL of the service.
func (c doorClient) OwnURL(name, address string) finding { return c.ownURL(name, address) }

// Secure reports whether agents would use a URL.
func (c doorClient) Secure(address string) bool {
	_, ok := c.address(address)
	return ok
}

// Now returns the time.
func (c doorClient) Now() time.Time { return c.options.Client.Now() }
