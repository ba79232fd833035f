package verify

import (
	"context"
	"net/http"

	"github.com/uimgate/uimgate/agent/fetch"
)

// firstReachable returns the first of several addresses where something answers a POST of the body, with that answer.
// The finding holds, or says why there is none.
func (v *verification) firstReachable(ctx context.Context, addresses []string, body string) (string, fetch.Answer, finding) {
	if v.service == nil {
		return "", fetch.Answer{}, skipped("no agent reads this agents.json: %v", v.findErr)
	}
	last := missing("there is no address to ask")
	for _, address := range addresses {
		a, err := v.ask(ctx, http.MethodPost, address, jsonBody, body)
		switch {
		case err != nil:
			last = exchangeFailed(err)
		case pathMissing(a.Status):
			last = missing("%s answers %d", printable(a.URL.Path), a.Status)
		default:
			return address, a, pass
		}
	}
	return "", fetch.Answer{}, last
}

// findExecute returns the address where intents are executed.
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
		return "", exchangeFailed(err)
	}
	address, a, f := v.firstReachable(ctx, list, body)
	v.executeURL, v.withoutPAT = address, a
	return address, f
}

// findIssue returns the address where agreements are sent. It is found by sending a body that is not JSON, so that no
// agreement is made.
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
