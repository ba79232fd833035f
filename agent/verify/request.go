package verify

import (
	"context"
	"net/http"

	"github.com/uimgate/uimgate/internal/fetch"
)

// get fetches a public document, following redirects as an agent would.
func (v *verification) get(ctx context.Context, address string, limit int64) (fetch.Answer, error) {
	return v.WithRetries(ctx, func() (fetch.Answer, error) {
		return v.fetch.Get(ctx, address, fetch.Document{Accept: "application/json, application/ld+json;q=0.9", Max: limit, From: v.Agents})
	})
}

// ask sends one request. It does not follow redirects.
func (v *verification) ask(ctx context.Context, method, address string, header http.Header, body string) (fetch.Answer, error) {
	return v.WithRetries(ctx, func() (fetch.Answer, error) {
		return v.fetch.Do(ctx, fetch.Request{
			Method: method, URL: address, Header: header, Body: []byte(body), Max: maxAnswer, From: v.Agents,
		})
	})
}

// at returns the URL of a path on the origin of agents.json.
func (v *verification) at(path string) string {
	u := *v.Agents
	u.Path, u.RawPath, u.RawQuery, u.Fragment = path, "", "", ""
	return u.String()
}

// pathMissing reports whether a status may mean that nothing is served at a path.
func pathMissing(status int) bool {
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	}
	return false
}

var jsonBody = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
