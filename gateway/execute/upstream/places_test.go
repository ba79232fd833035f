package upstream_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"

	"github.com/uimgate/uimgate/gateway/execute/internal/grant"
	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/store"
)

// A places counts the places that retries use: each takes one of left.
type places struct{ left, taken, unused int }

var errNoPlace = errors.New("no place is left")

// grant returns the grant of the first attempt.
func (p *places) grant() grant.Grant {
	return grant.New("", firstAttempt{p})
}

func (p *places) Alive() error           { return nil }
func (p *places) Unused(context.Context) { p.unused++ }

// A firstAttempt is the grant of the first attempt. The call itself gives back its place.
type firstAttempt struct{ *places }

func (firstAttempt) Unused(context.Context) {}

// Another returns the grant of a retry.
func (p *places) Another(context.Context) (grant.Grant, error) {
	if p.left == 0 {
		return grant.Grant{}, errNoPlace
	}
	p.left--
	p.taken++
	return grant.New("", p), nil
}

func TestEachWrittenAttemptTakesAPlace(t *testing.T) {
	for name, c := range map[string]struct {
		left     int  // places for retries
		breaks   int  // requests whose connection the service closes
		vanishes bool // then the service closes its listener
		requests int64
		places   places // after the call
		outcome  store.Outcome
	}{
		"only the first":             {left: 9, requests: 1, places: places{left: 9}, outcome: store.Done},
		"places for all attempts":    {left: 9, breaks: 9, requests: 4, places: places{left: 6, taken: 3}, outcome: store.Unknown},
		"fewer places than attempts": {left: 1, breaks: 9, requests: 2, places: places{taken: 1}, outcome: store.Unknown},
		"no place":                   {breaks: 9, requests: 1, outcome: store.Unknown},
		"returned because nothing was sent": {
			left: 9, breaks: 1, vanishes: true, requests: 1, places: places{left: 8, taken: 1, unused: 1}, outcome: store.Unknown,
		},
		"first place returned at the end": {left: 9, vanishes: true, places: places{left: 9}, outcome: store.NotSent},
	} {
		t.Run(name, func(t *testing.T) {
			var s *service
			s = serve(t, func(n int64, conn net.Conn, _ *http.Request) bool {
				if n > int64(c.breaks) {
					_, _ = conn.Write([]byte(fine))
				}
				if c.vanishes {
					s.stop()
				}
				return false
			})
			if c.vanishes && c.breaks == 0 {
				s.stop()
			}
			cfg := settings(t, s.URL)
			cfg.Retry.Attempts = 4
			u := open(t, cfg)
			p := places{left: c.left}
			_, outcome, err := u.Call(t.Context(), prepare(t, u, "GET"), upstream.Identity{}, p.grant())
			if n := s.Requests.Load(); outcome != c.outcome || n != c.requests || p != c.places {
				t.Errorf("%q, %v, %d requests, %+v; want %q, %d, %+v", outcome, err, n, p, c.outcome, c.requests, c.places)
			}
		})
	}
}
