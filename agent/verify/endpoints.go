package verify

import (
	"context"
	"net/http"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/internal/fetch"
)

// firstReachable returns the first of several addresses that responds to a POST of the body, and its response. The finding passes, or is
// the reason why none of them responds.
func (v *verification) firstReachable(ctx context.Context, addresses []string, body string) (string, fetch.Answer, finding) {
	if v.service == nil {
		return "", fetch.Answer{}, skipped("agents cannot use this agents.json: %v", v.findErr)
	}
	last := missing("agents.json has no address for this")
	for _, address := range addresses {
		a, err := v.ask(ctx, http.MethodPost, address, jsonBody, body)
		switch {
		case err != nil:
			last = point.Failed(err)
		case pathMissing(a.Status):
			last = missing("%s responds with %d", printable(a.URL.Path), a.Status)
		default:
			return address, a, pass
		}
	}
	return "", fetch.Answer{}, last
}

// findExecute returns the address for calls. To find the address, it first makes a call to an unknown intent without a PAT, and keeps the
// response in v.withoutPAT.
func (v *verification) findExecute(ctx context.Context) (string, finding) {
	if v.executeURL != "" {
		return v.executeURL, pass
	}
	var list []string
	if v.service != nil {
		list = v.service.Endpoints().Execute
	}
	body, err := v.body(v.unknownUID(), map[string]any{})
	if err != nil {
		return "", point.Failed(err)
	}
	address, a, f := v.firstReachable(ctx, list, body)
	v.executeURL, v.withoutPAT = address, a
	return address, f
}

// findIssue returns the address for agreements. To find the address, it first sends a body that is not JSON, so that no agreement is made,
// and keeps the response in v.malformed.
func (v *verification) findIssue(ctx context.Context) (string, finding) {
	if v.issueURL != "" {
		return v.issueURL, pass
	}
	var list []string
	if v.service != nil {
		list = v.service.Endpoints().Issue
	}
	address, a, f := v.firstReachable(ctx, list, `{"agent_id":`)
	v.issueURL, v.malformed = address, a
	return address, f
}
