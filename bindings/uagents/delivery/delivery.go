// Package delivery posts envelopes of the uAgents protocol to endpoints that agents choose. It connects to hosts in
// private networks only if the operator has named or permitted them. An endpoint that hangs or fails does not delay
// deliveries to others.
//
//	courier := delivery.New(delivery.Options{})
//	err := courier.Deliver(ctx, delivery.Route{Endpoints: endpoints}, body, closing)
package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/uimgate/uimgate/internal/fairqueue"
	"github.com/uimgate/uimgate/internal/fetch"
)

// Bounds of a delivery.
const (
	// MaxTries is the maximum number of attempts for an envelope, over all endpoints.
	MaxTries = 10
	// Patience is how long delivery of an envelope is attempted.
	Patience = 2 * time.Minute

	exchange     = 10 * time.Second // the default of Options.Exchange
	longestPause = 30 * time.Second
	maxAnswer    = 64 << 10 // bytes of a response, which is ignored
)

// sharing bounds the attempts in progress by host, so that no host uses all places.
var sharing = fairqueue.Bounds{Places: 128, Waiting: 1024, Wait: 30 * time.Second}

// A Route holds the endpoints of an agent.
type Route struct {
	Endpoints []Endpoint
	// Private permits every address: the operator has named the endpoints, or permits endpoints in private networks.
	Private bool
	// Unapproved means that the operator has not approved the agent; deliveries to other agents have priority.
	Unapproved bool
}

// A Cause is the reason why an envelope was not delivered. It is a label of a metric.
type Cause string

// The causes.
const (
	NoEndpoint  Cause = "no_endpoint" // no endpoint of the agent is known
	Refused     Cause = "refused"     // no endpoint has a permitted address
	Unreachable Cause = "unreachable" // the endpoint did not send a complete response in time
	Status      Cause = "status"      // the endpoint responded with a status other than 200
	TooBusy     Cause = "crowded"     // too many deliveries were in progress or waiting
	CutOff      Cause = "cut_off"     // the process is shutting down
)

// An Error means that an envelope could not be delivered. It contains neither the paths of endpoints nor their responses.
type Error struct {
	Cause Cause
	Err   error // the error of the last attempt; may be nil
}

func (e *Error) Error() string {
	if e.Err == nil {
		return "not delivered: " + string(e.Cause)
	}
	return "not delivered: " + string(e.Cause) + ": " + e.Err.Error()
}

// Unwrap returns the error of the last try.
func (e *Error) Unwrap() error { return e.Err }

// Options are the options of a Courier.
type Options struct {
	// Pause is the wait before endpoints are tried again; it doubles each time, up to half a minute. 0 means one second.
	Pause time.Duration
	// Exchange limits the duration of one attempt, including reading the response. 0 means 10 seconds.
	Exchange time.Duration
}

// A Courier delivers envelopes. It is safe for concurrent use.
type Courier struct {
	guarded, private *fetch.Client
	places           *fairqueue.Places
	pause            time.Duration
}

// New makes a Courier.
func New(o Options) *Courier {
	o.Pause, o.Exchange = cmp.Or(o.Pause, time.Second), cmp.Or(o.Exchange, exchange)
	return &Courier{
		guarded: fetch.New(fetch.Options{AllowHTTP: true, Timeout: o.Exchange}),
		private: fetch.New(fetch.Options{AllowInsecure: true, Timeout: o.Exchange}),
		places:  fairqueue.New(sharing), pause: o.Pause,
	}
}

// Close drops idle connections.
func (c *Courier) Close() {
	c.guarded.Close()
	c.private.Close()
}

// Deliver posts an envelope to one endpoint after another, in a random order by weight, until one responds with 200. If all fail, Deliver
// pauses and tries the endpoints again, except those whose failure is final. It makes at most MaxTries attempts within Patience. Once
// closing is closed, Deliver tries no endpoint again. Every error is an *Error.
func (c *Courier) Deliver(ctx context.Context, to Route, body []byte, closing <-chan struct{}) error {
	within, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	failed := c.deliver(within, to, body, closing)
	switch {
	case failed == nil:
		return nil
	case ctx.Err() != nil:
		failed.Cause = CutOff
	}
	return failed
}

// deliver returns the error of the last attempt, or nil if the envelope was delivered.
func (c *Courier) deliver(ctx context.Context, to Route, body []byte, closing <-chan struct{}) *Error {
	endpoints := shuffled(to.Endpoints)
	failed := &Error{Cause: NoEndpoint}
	for tries, pause := 0, c.pause; len(endpoints) > 0; pause = min(2*pause, longestPause) {
		var again []Endpoint
		for _, e := range endpoints {
			if tries++; tries > MaxTries {
				return failed
			}
			var final bool
			if failed, final = c.try(ctx, e, to, body); failed == nil {
				return nil
			}
			if !final {
				again = append(again, e)
			}
		}
		if len(again) == 0 || tries == MaxTries {
			return failed
		}
		endpoints = shuffled(again)
		if !wait(ctx, pause, closing) {
			return failed
		}
	}
	return failed
}

// wait waits, and reports whether the pause ended before ctx was done or closing was closed.
func wait(ctx context.Context, pause time.Duration, closing <-chan struct{}) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-closing:
	}
	return false
}

// agentURL is passed to fetch as the source of endpoints that the operator did not name, so that fetch refuses addresses of this machine.
var agentURL = &url.URL{Scheme: "https", Host: "almanac"}

// finalStatus reports whether a second attempt would get the same status.
func finalStatus(status int) bool {
	return status >= 300 && status < 500 && !slices.Contains([]int{http.StatusRequestTimeout, http.StatusTooManyRequests}, status)
}

// try posts an envelope once. final means that another attempt would be useless.
func (c *Courier) try(ctx context.Context, e Endpoint, to Route, body []byte) (failed *Error, final bool) {
	if err := e.Check(); err != nil {
		return &Error{Refused, err}, true
	}
	leave, err := c.places.Take(ctx, fairqueue.Party{Name: e.host(), Unapproved: to.Unapproved})
	if err != nil {
		return &Error{TooBusy, err}, false
	}
	defer leave()
	client, from := c.guarded, agentURL
	if to.Private {
		client, from = c.private, nil
	}
	answer, err := client.Do(ctx, fetch.Request{
		Method: http.MethodPost, URL: e.URL, Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Max: maxAnswer, From: from,
	})
	switch {
	case errors.Is(err, fetch.ErrRefused):
		return &Error{Refused, err}, true
	case err != nil:
		return &Error{Unreachable, err}, false
	case answer.Status != http.StatusOK:
		return &Error{Status, fmt.Errorf("%s responded with status %d", fetch.Origin(answer.URL), answer.Status)}, finalStatus(answer.Status)
	}
	return nil, false
}
