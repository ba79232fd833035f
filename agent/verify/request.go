package verify

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/uimgate/uimgate/internal/fetch"
)

// get fetches a public document, following redirects as an agent would.
func (v *verification) get(ctx context.Context, address string, limit int64) (fetch.Answer, error) {
	return v.withRetries(ctx, func() (fetch.Answer, error) {
		return v.fetch.Get(ctx, address, fetch.Document{Accept: "application/json, application/ld+json;q=0.9", Max: limit, From: v.agentsURL()})
	})
}

// ask sends one request. It does not follow redirects.
func (v *verification) ask(ctx context.Context, method, address string, header http.Header, body string) (fetch.Answer, error) {
	return v.withRetries(ctx, func() (fetch.Answer, error) {
		return v.fetch.Do(ctx, fetch.Request{
			Method: method, URL: address, Header: header, Body: []byte(body), Max: maxAnswer, From: v.agentsURL(),
		})
	})
}

// withRetries repeats a request a few times while the service returns 429 with a short Retry-After.
func (v *verification) withRetries(ctx context.Context, do func() (fetch.Answer, error)) (fetch.Answer, error) {
	const most = 3
	for n := 0; ; n++ {
		a, err := do()
		if err != nil || a.Status != http.StatusTooManyRequests || n == most || !v.wait(ctx, a.Header.Get("Retry-After")) {
			return a, err
		}
	}
}

func (v *verification) wait(ctx context.Context, retryAfter string) bool {
	seconds, err := strconv.Atoi(retryAfter)
	d := time.Duration(seconds) * time.Second
	return err == nil && seconds >= 0 && d <= maxWait && v.options.Client.Sleep(ctx, max(d, time.Second)) == nil
}

// at returns the URL of a path on the origin of agents.json.
func (v *verification) at(path string) string {
	u := *v.agentsURL()
	u.Path, u.RawPath, u.RawQuery, u.Fragment = path, "", "", ""
	return u.String()
}

// agentsURL returns the URL of agents.json, which vouches for the other addresses of the service.
func (v *verification) agentsURL() *url.URL { return v.agentsFile.url }

// pathMissing reports whether a status may mean that nothing is served at a path.
func pathMissing(status int) bool {
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	}
	return false
}

var jsonBody = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
