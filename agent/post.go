package agent

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/uimgate/uimgate/agent/via"
	"github.com/uimgate/uimgate/internal/fetch"
)

// An operation describes a kind of request: its name in errors, and the limit of its response in bytes.
type operation struct {
	name string
	max  func(*Client) int64
	read func(fetch.Answer) (fetch.Answer, error) // converts the response of another protocol; nil for UIM's own
	// wait is how long the service may take to respond, if that is longer than the client's limit for an exchange.
	wait time.Duration
	// action is the name of the operation in messages to an agent on an MRP relay; empty if it has none.
	action string
}

var (
	issueOp   = operation{name: "agreeing", max: func(*Client) int64 { return maxPATAnswer }, action: via.ActionAgree}
	renewOp   = operation{name: "renewing", max: func(*Client) int64 { return maxPATAnswer }, action: via.ActionRenew}
	revokeOp  = operation{name: "revoking", max: func(*Client) int64 { return maxPATAnswer }}
	executeOp = operation{name: "executing", max: func(c *Client) int64 { return c.o.MaxAnswer }, action: via.ActionExecute}
)

// post sends a request that carries a signature or a PAT to the first of the addresses that exists. It does not follow redirects. The error
// for a response with a status other than 2xx wraps an *Error.
func (s *Service) post(ctx context.Context, op operation, addresses []string, header http.Header, body []byte) (fetch.Answer, error) {
	return s.postFor(ctx, op, addresses, header, func(string) ([]byte, error) { return body, nil })
}

// postFor is like post, with a body that bodyFor creates for each address.
func (s *Service) postFor(
	ctx context.Context, op operation, addresses []string, header http.Header, bodyFor func(address string) ([]byte, error),
) (fetch.Answer, error) {
	from := s.agentsURL()
	var first error
	for _, address := range addresses {
		body, err := bodyFor(address)
		if err != nil {
			return fetch.Answer{}, err
		}
		if s.client.relay != nil && op.action != "" {
			return s.throughRelay(ctx, op, header, body)
		}
		h := http.Header{"Accept": {"application/json"}}
		if len(body) > 0 {
			h.Set("Content-Type", "application/json")
		}
		maps.Copy(h, header)
		answer, err := s.client.fetch.Do(ctx, fetch.Request{
			Method: http.MethodPost, URL: address, Header: h, Body: body, Max: op.max(s.client), From: from, Timeout: op.wait,
		})
		if err != nil {
			return fetch.Answer{}, fmt.Errorf("%s: %w", op.name, err)
		}
		if op.read != nil {
			if answer, err = op.read(answer); err != nil {
				return fetch.Answer{}, fmt.Errorf("%s: %w", op.name, err)
			}
		}
		if answer.Status/100 == 2 {
			s.keepEndpoint(addresses, address)
			return answer, nil
		}
		refusal := readError(answer)
		if answer.Status/100 == 3 {
			refusal.Message = "the service redirects the request, but the client does not send a PAT or a signature through a redirect"
		}
		err = fmt.Errorf("%s: %w", op.name, refusal)
		if !pathMissing(answer) || len(addresses) == 1 {
			return fetch.Answer{}, err
		}
		if first == nil {
			first = err
		}
	}
	return fetch.Answer{}, first
}

// keepEndpoint replaces the list of addresses in the session with found, the one that exists.
func (s *Service) keepEndpoint(addresses []string, found string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := &s.session.Endpoints
	for _, list := range []*[]string{&e.Execute, &e.Issue, &e.Renew, &e.Revoke} {
		if len(*list) > 1 && slices.Equal(*list, addresses) {
			*list = []string{found}
		}
	}
}
