package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/connlimit"
	"github.com/uimgate/uimgate/internal/membudget"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/store/mail"
)

// A call is one request of an authenticated sender.
type call struct {
	*http.Request
	auth  wire.Auth
	agent mail.Agent // zero if the operation records the signature itself
	body  []byte
	share *membudget.Share
	file  *upload // the body of an upload, instead of body
	// target is the request target that the signature covers.
	target string
}

func (c *call) key() wire.Key { return c.auth.Key }

// touch is how old the stored time of an agent's last activity may be, so that not every request updates it.
const touch = 10 * time.Second

// signed returns a handler for signed requests. The handler checks the headers, the time, the body, the signature, the rate and replays, in
// this order, and then calls the operation. An operation with guards checks for a replay itself.
func (r *Relay) signed(methods map[string]signedOperation) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		op, ok := methods[req.Method]
		if !ok {
			r.notAllowed(w, slices.Collect(maps.Keys(methods)))
			return
		}
		if client := r.options.Client(req); !r.unknownSenders.Admit(client, r.now()) {
			r.tooManyFrom(w)
			return
		}
		share := r.budget.Open()
		defer share.Close()
		c := &call{Request: req, share: share}
		defer func() { c.file.drop() }()
		refused := r.admit(req.Context(), w, c, op, share)
		if refused == nil {
			refused = op.do(w, c)
		}
		if refused == nil {
			connlimit.Of(req.Context()).Keep()
			return
		}
		if refused.Code == wire.ReplayDetected {
			r.rates.giveBack(c.key(), op.use)
		}
		r.refuse(w, refused)
	}
}

// admit authenticates the sender of a request, and counts the request.
func (r *Relay) admit(
	ctx context.Context, w http.ResponseWriter, c *call, op signedOperation, share *membudget.Share,
) (refused *wire.Error) {
	if c.auth, refused = wire.ReadAuth(c.Header); refused != nil {
		return refused
	}
	if refused = c.auth.InTime(r.now(), r.options.Tolerance); refused != nil {
		w.Header().Set("Date", r.now().UTC().Format(http.TimeFormat))
		return refused
	}
	sum, refused := r.receive(w, c, share)
	if refused != nil {
		return refused
	}
	if refused = r.verify(c, sum); refused != nil {
		return refused
	}
	standing, ok := r.rates.take(c.key(), op.use)
	standing.show(w.Header())
	if !ok {
		return standing.refused()
	}
	share.Known()
	if !op.guards {
		c.agent, refused = r.known(ctx, c.auth, r.options.Client(c.Request))
	}
	return refused
}

// receive reads the body, and returns its digest. The body of an upload is written to a file while it arrives.
func (r *Relay) receive(w http.ResponseWriter, c *call, share *membudget.Share) (wire.Digest, *wire.Error) {
	upload := c.Method == http.MethodPost && strings.HasSuffix(c.URL.Path, "/v1/blobs")
	most, within := int64(wire.MaxRequest), r.times.body
	if upload {
		most, within = r.limits.Blob, r.times.with(r.times.blob, c.ContentLength)
	}
	tooLarge := wire.Refuse(wire.TooLarge, fmt.Sprintf("the body must have at most %d bytes", most))
	if c.ContentLength > most {
		return wire.Digest{}, tooLarge
	}
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(within)) //nolint:forbidigo // a deadline of the network; some writers have none
	body := http.MaxBytesReader(w, c.Body, most)
	if upload {
		var refused *wire.Error
		if c.file, refused = r.blobs.receive(body, r.options.Client(c.Request), tooLarge); refused != nil {
			return wire.Digest{}, refused
		}
		_ = connection.SetReadDeadline(time.Time{})
		return c.file.sum, nil
	}
	coming := r.bodies.join(share, func() error { return connection.SetReadDeadline(time.Unix(1, 0)) })
	raw, err := io.ReadAll(membudget.NewReader(body, func(n int64) error { return r.bodies.take(coming, n) }))
	r.bodies.leave(coming, err == nil)
	switch {
	case errors.Is(err, membudget.ErrExhausted):
		return wire.Digest{}, unavailable("the relay does not have enough memory for the request: try again in a few seconds")
	case isTooLarge(err):
		return wire.Digest{}, tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return wire.Digest{}, unavailable("the body took too long to arrive: try again in a few seconds")
	case err != nil:
		return wire.Digest{}, wire.Refuse(wire.BadRequest, "the body is incomplete")
	}
	_ = connection.SetReadDeadline(time.Time{}) // otherwise the deadline would end a waiting poll
	c.body = raw
	return wire.Sum(raw), nil
}

func isTooLarge(err error) bool {
	_, is := errors.AsType[*http.MaxBytesError](err)
	return is
}

// verify checks the signature over the request target. If the target has the prefix of the relay, verify also accepts a signature over the
// rest of the target.
func (r *Relay) verify(c *call, sum wire.Digest) *wire.Error {
	c.target = c.RequestURI
	refused := c.auth.Verify(c.Method, c.target, sum)
	if within, below := strings.CutPrefix(c.target, r.options.Prefix); refused != nil && below && r.options.Prefix != "" {
		if c.auth.Verify(c.Method, within, sum) == nil {
			c.target = within
			return nil
		}
	}
	return refused
}

// known records the signature of a request, and returns the agent that signed the request. It creates the agent if the store does not
// contain it.
func (r *Relay) known(ctx context.Context, a wire.Auth, client string) (mail.Agent, *wire.Error) {
	counted, refused := r.comes(ctx, a.Key, client)
	if refused != nil {
		return mail.Agent{}, refused
	}
	agent, isNew, err := r.store.Admit(ctx, r.guard(a), touch)
	r.received(a.Key, client, counted, isNew, err)
	return agent, r.refusal(err, wire.AgentNotFound)
}

// guard returns the record of a signature, which the store accepts only once.
func (r *Relay) guard(a wire.Auth) mail.Guard {
	return mail.Guard{Key: a.Key, Signature: a.Signature, Signed: a.Time, Until: a.Time.Add(r.options.Tolerance)}
}

// comes counts an agent against the limit of new agents for each client address, if the store does not contain the agent yet. counted
// reports whether it did. comes returns an error if the limit is reached. The agent is counted before it is created, so that concurrent
// requests cannot exceed the limit.
func (r *Relay) comes(ctx context.Context, key wire.Key, client string) (counted bool, refused *wire.Error) {
	if r.rates.met(key) {
		return false, nil
	}
	_, err := r.store.Agent(ctx, key)
	if counted = errors.Is(err, mail.ErrNotFound); counted && !r.newcomer.Admit(client, r.now()) {
		e := wire.Refuse(wire.RateLimited, "too many new agents from this address")
		e.RetryAfter = max(time.Second, r.newcomer.Wait())
		return false, e
	}
	return counted, nil
}

// received records the result of a request for which comes was called. counted is the result of comes. received counts a new agent even if
// its request was refused.
func (r *Relay) received(key wire.Key, client string, counted, isNew bool, err error) {
	if err == nil || isNew {
		r.rates.meet(key, true)
	}
	if isNew {
		if !counted { // the agent has been deleted since its last request
			r.newcomer.Admit(client, r.now())
		}
		r.meter.agents.Inc()
	}
}

// pathKey parses the key in the part of the path with the given name.
func (c *call) pathKey(name string) (wire.Key, *wire.Error) {
	k, err := wire.ParseKey(c.PathValue(name))
	if err != nil {
		return wire.Key{}, wire.Refuse(wire.BadRequest, "the path: "+err.Error())
	}
	return k, nil
}
