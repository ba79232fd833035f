package upstream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/execute/internal/grant"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/store"
)

// A question is a prepared Config.Reconcile.
type question struct {
	route         *Route
	done, notDone sign
}

// executionIDName is the name of the placeholder for the execution id.
const executionIDName = "execution_id"

// ownHost is a placeholder for the host of the service in the URL of the request, because Config.Reconcile.URL has no host.
const ownHost = "service.invalid"

func (u *Upstream) setQuestion(c config.Reconcile) (err error) {
	if c == (config.Reconcile{}) {
		return nil
	}
	e := Endpoint{IntentUID: ownHost + ":reconcile:v1", URL: "https://" + ownHost + c.URL, Method: "GET", Fixed: u.cfg.ReconcileFixed}
	e.Parameters = slices.Sorted(maps.Keys(e.Fixed.Parameters))
	switch {
	case !strings.HasPrefix(c.URL, "/"):
		return errors.New("reconcile.url: want a path such as /orders/{execution_id}")
	case strings.Contains(c.URL, "{"+executionIDName+"}"):
		e.Parameters = append(e.Parameters, executionIDName)
	case u.cfg.IdempotencyHeader == "":
		return errors.New("reconcile.url: want {execution_id} in the path, or idempotency_header for the id")
	}
	q := &question{}
	if q.route, err = u.Route(e); err != nil {
		return fmt.Errorf("reconcile.url: %w", err)
	}
	if q.done, err = readSign(string(c.Done)); err != nil {
		return fmt.Errorf("reconcile.done: %w", err)
	}
	if q.notDone, err = readSign(string(c.NotDone)); err != nil {
		return fmt.Errorf("reconcile.not_done: %w", err)
	}
	u.question = q
	return nil
}

// HasStatusQuestion reports whether the service can report the outcome of a call.
func (u *Upstream) HasStatusQuestion() bool { return u.question != nil }

// Ask requests the outcome of the call of an execution from the service. Call it only if HasStatusQuestion returns true. It returns
// store.Captured if the call took effect, store.Released if it did not, and store.Unresolved if the response means neither. The request has
// no side effects at the service. Errors are those of Call; they mean that the outcome is still unknown.
func (u *Upstream) Ask(ctx context.Context, executionID string) (store.State, error) {
	ctx, cancel := context.WithTimeout(ctx, u.cfg.Timeout)
	defer cancel()
	parameters := strictjson.Object{}
	if u.question.route.declared[executionIDName] {
		parameters[executionIDName] = executionID
	}
	p, wrong := u.question.route.Prepare(parameters)
	if len(wrong) > 0 {
		return "", fmt.Errorf("the execution id %s", wrong[0].Message)
	}
	header, err := u.header(ctx, p, Identity{}, executionID)
	if err != nil {
		return "", err
	}
	r := u.attempt(ctx, p, header, grant.New(executionID, questionGrant{}))
	if r.outcome == store.NotSent || r.outcome == store.Unknown {
		return "", r.err
	}
	switch done, notDone := u.question.done.in(r.answer), u.question.notDone.in(r.answer); {
	case done && !notDone:
		return store.Captured, nil
	case notDone && !done:
		return store.Released, nil
	default:
		return store.Unresolved, nil
	}
}

// questionGrant implements grant.Terms for a request for an outcome: it permits one attempt, without further checks, because the request
// has no side effects.
type questionGrant struct{}

var errSecondQuestion = errors.New("the request for an outcome is not retried")

func (questionGrant) Alive() error { return nil }
func (questionGrant) Another(context.Context) (grant.Grant, error) {
	return grant.Grant{}, errSecondQuestion
}
func (questionGrant) Unused(context.Context) {}

// A sign matches responses with one of the statuses or, if pointer is set, with the given value in the body.
type sign struct {
	statuses []int
	pointer  string
	value    string
}

var errSign = errors.New(`want statuses such as "200, 201", or a JSON pointer such as /done or /state=paid`)

func readSign(text string) (s sign, err error) {
	if strings.HasPrefix(text, "/") {
		var given bool
		if s.pointer, s.value, given = strings.Cut(text, "="); !given {
			s.value = "true"
		}
		return s, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		status, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || status < 200 || status > 599 {
			return sign{}, errSign
		}
		s.statuses = append(s.statuses, status)
	}
	return s, nil
}

// in reports whether a response matches the sign.
func (s sign) in(a Answer) bool {
	if s.pointer == "" {
		return slices.Contains(s.statuses, a.Status)
	}
	value, _ := valueAt(a.JSON, s.pointer)
	text, ok := strictjson.ScalarText(value)
	return ok && text == s.value
}
