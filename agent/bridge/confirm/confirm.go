// Package confirm asks the owner of an agent, on a local page, whether the agent may make one call.
//
//	p := confirm.New(confirm.Options{CodePath: path})
//	defer p.Close()
//	q, err := p.Ask(ctx, digest, call)  // show q.URL to the owner
//	p.Wait(ctx, q.ID)
//	if p.Take(digest) == confirm.Allowed { … } // make the call, once
//
// The page accepts a confirmation only with the owner's code. A program that knows the address, such as the host of an assistant or a
// model with a browser, can read the page and refuse the call, but cannot confirm it.
package confirm

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// Lifetime is how long a question can be answered and, after a confirmation, how long the call can be made.
	Lifetime = 10 * time.Minute
	// MaxParameters is the maximum length of Call.Parameters in bytes, so that the owner can read all of them.
	MaxParameters = 64 << 10
	// MaxQuestions is the maximum number of questions at a time: open, or answered and not yet taken.
	MaxQuestions = 100
	// MaxTries is how many wrong codes a question accepts. The call is then refused.
	MaxTries = 5

	maxWrong = 20 // wrong codes for all questions, within an hour
	wrongFor = time.Hour
)

// ErrFull means that there are too many questions, that the parameters of a call are too long for the page, or that the Pages are closed.
var ErrFull = errors.New("too many calls wait for a confirmation, or the parameters are too long for the page")

// A State is the state of the question about a call.
type State int

// The states.
const (
	Unknown State = iota // the question does not exist, or has expired
	Open                 // the owner has not answered
	Allowed              // the owner has confirmed the call
	Refused              // the owner has refused the call, or there were too many wrong codes
)

// A Call describes a call to its owner. All texts are untrusted. They must not contain control or format characters, except line
// breaks in Parameters.
type Call struct {
	Service, Intent, Name string
	Parameters            string // JSON, at most MaxParameters bytes
	Price                 string
	Budgets               []string // the limits, with the amounts spent
}

// Options are the options of Pages.
type Options struct {
	CodePath string           // the file that SaveCode wrote
	Now      func() time.Time // nil: time.Now
}

// Pages are the pages of a process. They are safe for concurrent use.
type Pages struct {
	o Options

	mu       sync.Mutex
	byID     map[string]*question
	byDigest map[string]*question
	wrong    []time.Time // wrong codes within the last hour
	address  string      // host and port; empty until the first Ask
	server   *http.Server
	closed   bool

	checking sync.Mutex // one check of a code at a time, because each takes a processor for a while
}

// A question is about one call. Pages.mu guards it.
type question struct {
	id, digest string
	call       Call
	state      State
	until      time.Time
	tries      int
	answered   chan struct{} // closed when state is no longer Open
}

// A Question is the address of the page about a call.
type Question struct{ ID, URL string }

// New returns pages that do not listen yet.
func New(o Options) *Pages {
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the default clock
	}
	return &Pages{o: o, byID: map[string]*question{}, byDigest: map[string]*question{}}
}

// Ask returns the question about the call with this digest. If there is none, Ask opens one, and listens on a loopback address. The digest
// must cover all of the call that the owner sees. Errors: ErrFull, and those of listening.
func (p *Pages) Ask(ctx context.Context, digest string, c Call) (Question, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expire()
	if q := p.byDigest[digest]; q != nil {
		return p.addressOf(q), nil
	}
	if len(p.byID) >= MaxQuestions || len(c.Parameters) > MaxParameters || p.closed {
		return Question{}, ErrFull
	}
	if err := p.listen(ctx); err != nil {
		return Question{}, err
	}
	q := &question{
		id: rand.Text(), digest: digest, call: c, state: Open, until: p.o.Now().Add(Lifetime), answered: make(chan struct{}),
	}
	p.byID[q.id], p.byDigest[digest] = q, q
	return p.addressOf(q), nil
}

func (p *Pages) addressOf(q *question) Question {
	return Question{ID: q.id, URL: "http://" + p.address + path + q.id}
}

// Take returns the state of the question about a call. If the owner has answered, Take removes the question, so that one confirmation
// permits one call.
func (p *Pages) Take(digest string) State {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expire()
	q := p.byDigest[digest]
	if q == nil {
		return Unknown
	}
	if q.state != Open {
		p.remove(q)
	}
	return q.state
}

// Return restores a confirmation that Take returned, for a call that was not made. It expires Lifetime from now. If the same call has been
// asked about again in the meantime, the confirmation answers that question.
func (p *Pages) Return(digest string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expire()
	q := p.byDigest[digest]
	switch {
	case q != nil && q.state != Open, q == nil && len(p.byID) >= MaxQuestions:
		return
	case q == nil:
		q = &question{id: rand.Text(), digest: digest, state: Open, answered: make(chan struct{})}
		p.byID[q.id], p.byDigest[digest] = q, q
	}
	p.end(q, Allowed)
	q.until = p.o.Now().Add(Lifetime)
}

// Drop removes the open question about a call that the host has given up. It does not remove an answered question.
func (p *Pages) Drop(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q := p.byID[id]; q != nil && q.state == Open {
		p.end(q, Refused)
		p.remove(q)
	}
}

// Wait waits until the question is answered or has expired, or ctx is done. The error is that of ctx.
func (p *Pages) Wait(ctx context.Context, id string) error {
	p.mu.Lock()
	q := p.byID[id]
	if q == nil {
		p.mu.Unlock()
		return nil
	}
	timer := time.NewTimer(q.until.Sub(p.o.Now()))
	p.mu.Unlock()
	defer timer.Stop()
	select {
	case <-q.answered:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Close stops listening. After that, open questions cannot be answered.
func (p *Pages) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.server != nil {
		_ = p.server.Close()
	}
	for _, q := range p.byID {
		p.end(q, Refused)
		p.remove(q)
	}
}

// expire removes the questions whose time is over. p.mu must be held.
func (p *Pages) expire() {
	now := p.o.Now()
	for _, q := range p.byID {
		if !now.Before(q.until) {
			p.end(q, Unknown)
			p.remove(q)
		}
	}
}

func (p *Pages) remove(q *question) {
	delete(p.byID, q.id)
	if p.byDigest[q.digest] == q {
		delete(p.byDigest, q.digest)
	}
}

// end sets the state of an open question. p.mu must be held.
func (p *Pages) end(q *question, s State) {
	if q.state == Open {
		q.state = s
		close(q.answered)
	}
}

// An answer is what happened to a form that the owner sent.
type answer int

const (
	gone     answer = iota // the question has expired, or was answered before
	allowed                // the call is confirmed
	refused                // the call is refused
	wrong                  // the code was wrong
	tooOften               // too many codes were wrong, for this or for all questions
	broken                 // the code could not be read
)

// refuse ends a question.
func (p *Pages) refuse(id string) answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expire()
	q := p.byID[id]
	if q == nil || q.state != Open {
		return gone
	}
	p.end(q, Refused)
	return refused
}

// confirm confirms a question if the code is right.
func (p *Pages) confirm(id, code string) answer {
	p.checking.Lock()
	defer p.checking.Unlock()
	if a, ok := p.mayTry(id); !ok {
		return a
	}
	right, err := matches(p.o.CodePath, code)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expire()
	q := p.byID[id]
	switch {
	case q == nil || q.state != Open:
		return gone
	case err != nil:
		return broken
	case right:
		p.end(q, Allowed)
		q.until = p.o.Now().Add(Lifetime)
		return allowed
	}
	p.wrong = append(p.wrong, p.o.Now())
	if q.tries++; q.tries < MaxTries {
		return wrong
	}
	p.end(q, Refused)
	return tooOften
}

// mayTry reports whether a code may be tried for a question. If not, it also returns the answer.
func (p *Pages) mayTry(id string) (answer, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expire()
	if q := p.byID[id]; q == nil || q.state != Open {
		return gone, false
	}
	since := p.o.Now().Add(-wrongFor)
	for len(p.wrong) > 0 && p.wrong[0].Before(since) {
		p.wrong = p.wrong[1:]
	}
	return tooOften, len(p.wrong) < maxWrong
}

// listen opens the listener, once. p.mu must be held.
func (p *Pages) listen(ctx context.Context) error {
	if p.server != nil {
		return nil
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p.address = l.Addr().String()
	p.server = p.newServer()
	go func() { _ = p.server.Serve(l) }()
	return nil
}
