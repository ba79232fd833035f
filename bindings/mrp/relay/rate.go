package relay

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// A use is the limit that a request counts against.
type use int

// The uses, each with a separate limit.
const (
	useOther use = iota
	useSend
	usePoll
	useFrame
	uses
)

// window is the period of every limit of an agent. It is a sliding window: requests of the previous minute count in proportion to the part
// of that minute that is still in the window.
const window = time.Minute

// rates counts the requests of each agent in this process.
type rates struct {
	limits Limits
	now    func() time.Time

	mu     sync.Mutex
	agents map[wire.Key]*account
}

// An account holds the counts of an agent's recent requests. met means that the store contains the agent.
type account struct {
	counts [uses]count
	met    bool
}

// A count holds the number of requests in the current minute and in the previous one.
type count struct {
	minute      int64
	now, before int
}

func (r *rates) limit(u use) int {
	switch u {
	case useSend:
		return r.limits.Sends
	case usePoll:
		return r.limits.Polls
	case useFrame:
		return r.limits.Frames
	default:
		return r.limits.Others
	}
}

// A limitState is the state of a limit of an agent after a request.
type limitState struct {
	limit, remaining int
	reset            time.Time     // the end of the current minute
	retry            time.Duration // if the request was refused: the time until another can succeed
}

// take counts a request of an agent. If the agent has reached its limit, ok is false and the request is not counted.
func (r *rates) take(key wire.Key, u use) (s limitState, ok bool) { return r.takeSome(key, u, 1) }

// takeSome is like take, for a request that counts as n requests. It succeeds if at least one more request is allowed, even if n is larger
// than the number of remaining requests.
func (r *rates) takeSome(key wire.Key, u use, n int) (s limitState, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if r.agents == nil {
		r.agents = map[wire.Key]*account{}
	}
	of := r.agents[key]
	if of == nil {
		of = &account{}
		r.agents[key] = of
	}
	c, most := &of.counts[u], r.limit(u)
	c.turn(now)
	minute := time.Unix(c.minute*int64(window/time.Second), 0)
	s = limitState{limit: most, reset: minute.Add(window)}
	passed := now.Sub(minute)
	before := (c.before*int(window-passed) + int(window) - 1) / int(window) // rounded up
	if c.now+before >= most {
		if c.now >= most { // part of the current minute must leave the window
			s.retry = minute.Add(window).Sub(now) + window/time.Duration(c.now) + time.Second
		} else {
			s.retry = time.Duration((int64(before)-int64(most-c.now)+1)*int64(window)/int64(c.before)) + time.Second
		}
		return s, false
	}
	c.now += n
	s.remaining = most - c.now - before
	return s, true
}

func (c *count) turn(now time.Time) {
	switch minute := now.Unix() / int64(window/time.Second); minute {
	case c.minute:
	case c.minute + 1:
		*c = count{minute: minute, before: c.now}
	default:
		*c = count{minute: minute}
	}
}

// giveBack removes from the count a request that turned out to be a replay, because anyone could have sent it.
func (r *rates) giveBack(key wire.Key, u use) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if of := r.agents[key]; of != nil && of.counts[u].now > 0 {
		of.counts[u].now--
	}
}

// met reports whether the store is known to contain an agent.
func (r *rates) met(key wire.Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.agents[key]
	return of != nil && of.met
}

// meet records whether the store contains an agent.
func (r *rates) meet(key wire.Key, met bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if of := r.agents[key]; of != nil {
		of.met = met
	}
}

// forget removes the accounts of agents without recent requests, until ctx ends.
func (r *rates) forget(ctx context.Context) {
	tick := time.NewTicker(window)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		r.mu.Lock()
		minute := r.now().Unix() / int64(window/time.Second)
		for key, of := range r.agents {
			old := true
			for _, c := range of.counts {
				old = old && c.minute < minute-1
			}
			if old {
				delete(r.agents, key)
			}
		}
		r.mu.Unlock()
	}
}

// show sets the X-RateLimit headers.
func (s limitState) show(h http.Header) {
	h.Set("X-RateLimit-Limit", strconv.Itoa(s.limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(max(0, s.remaining)))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(s.reset.Unix(), 10))
}

// refused returns the error for a request beyond the limit.
func (s limitState) refused() *wire.Error {
	e := wire.Refuse(wire.RateLimited, "the agent has reached its limit of requests per minute")
	e.RetryAfter = max(time.Second, (s.retry + time.Second - 1).Truncate(time.Second))
	e.Details = map[string]any{"limit": s.limit, "window": "1m", "retry_after": int64(e.RetryAfter / time.Second)}
	return e
}
