package uagents

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/uimgate/uimgate/bindings/uagents/almanac"
	"github.com/uimgate/uimgate/bindings/uagents/delivery"
	"github.com/uimgate/uimgate/bindings/uagents/mailbox"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/fairqueue"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/pat"
)

// Bounds of postponed replies. Senders share the places: each sender holds fewer places than are free, and unapproved senders leave a
// quarter of all places to the others.
var (
	// postponing limits the accepted envelopes whose replies are not yet delivered. If no place is free for its sender, an envelope is refused
	// immediately.
	postponing = fairqueue.Bounds{Places: 1024}
	// answering limits the envelopes that are being processed.
	answering = fairqueue.Bounds{Places: 64, Waiting: postponing.Places, Wait: time.Minute}
)

const (
	// answerFor is how long a delivered reply is valid after it was signed. It exceeds the maximum time to deliver an envelope sent ahead and
	// then the reply.
	answerFor = 2*delivery.Patience + time.Minute
	fullWait  = 5 * time.Second // how long a refused sender should wait before it tries again

	delivered = "delivered"
	noMemory  = "memory"   // the reply exceeded the memory for requests
	unwritten = "internal" // no reply could be produced
)

// An outbox delivers replies to the endpoints of senders, after the requests with their envelopes have ended.
type outbox struct {
	courier      *delivery.Courier
	almanac      *almanac.Client
	places       *fairqueue.Places // bounded by postponing
	answerPlaces *fairqueue.Places // bounded by answering
	queue        chan *laterReply
	pending      sync.WaitGroup // postponed envelopes
	closing      chan struct{}  // closed when Drain is called
	cut          chan struct{}  // closed when Drain returns
	tallies      tallies
	mailboxes    *mailbox.Mailboxes
}

func newOutbox(now func() time.Time) *outbox {
	return &outbox{
		courier: delivery.New(delivery.Options{}), almanac: almanac.NewClient(),
		places: fairqueue.New(postponing), answerPlaces: fairqueue.New(answering), queue: make(chan *laterReply, postponing.Places),
		closing: make(chan struct{}), cut: make(chan struct{}), tallies: tallies{now: now},
		mailboxes: mailbox.New(now),
	}
}

// A laterReply is an exchange whose reply is delivered later. It holds its place until leave is called.
type laterReply struct {
	exchange
	share *membudget.Share
	party fairqueue.Party
	leave func()
	early chan error // gets the result of the envelope that was sent ahead; nil: none was sent
}

// postpone accepts an envelope whose sender does not wait for the reply, and acknowledges it before it is processed.
func (x *submission) postpone() {
	o := x.d.outbox
	if f := x.postponable(); f != nil {
		x.fail(f)
		return
	}
	m := &laterReply{
		party: fairqueue.Party{Name: string(x.Sender), Unapproved: x.unapproved(x.r.Context())},
		share: membudget.Of(x.r.Context()).Beside(),
	}
	r := x.r.WithContext(membudget.With(context.WithoutCancel(x.r.Context()), m.share)) // body replaces the context with that of Run
	r.Body = http.NoBody
	err := wire.Affords(r.Context(), x.raw)
	if err == nil {
		m.leave, err = o.places.Take(x.r.Context(), m.party)
	}
	if err != nil {
		m.share.Close()
		x.fail(full(err))
		return
	}
	release, f := o.unreachable(&x.exchange)
	if f != nil { // a call whose reply cannot be delivered is neither executed nor charged
		m.leave()
		m.share.Close()
		x.fail(f)
		return
	}
	if leave := m.leave; release != nil {
		m.leave = func() { release(); leave() }
	}
	request := *x.Request
	request.Outcome = door.Outcome{}
	m.exchange = exchange{Request: &request, d: x.d, r: r, header: http.Header{}, raw: x.raw, Envelope: x.Envelope, goodFor: answerFor}
	o.tallies.queued(x.Service.ID, 1)
	o.pending.Add(1)
	o.queue <- m // never blocks, because the queue has room for all places
	x.write(http.StatusOK, []byte("{}"))
}

// full returns the fault for a valid envelope that cannot be accepted at the moment.
func full(err error) *fault {
	f := &fault{refusal.For(err), "too many envelopes are waiting", "The gateway does not have enough memory for the envelope at the moment. Send it again."}
	if errors.Is(err, fairqueue.ErrFull) {
		f.refusal = reason.Overloaded.Refusal("").After(fullWait).ShedFor(reason.ShedEnvelopes)
		f.detail = "The limit for all senders or for this sender is reached. Send the envelope again after a few seconds, or with x-uagents-connection: sync."
	}
	return f
}

// postponable returns the fault that prevents a later reply to an envelope, or nil if there is none.
func (x *submission) postponable() *fault {
	if !x.d.outbox.reaches(&x.exchange) {
		return malformed("asynchronous envelopes are not answered here",
			"No endpoint of the sender is known, and the service uses no Almanac to look it up. Send the envelope with the header "+
				"x-uagents-connection: sync, to get the reply in the response.")
	}
	if text := x.untimely(); text != "" {
		return malformed(text, "")
	}
	if _, err := x.Message(); err != nil {
		return malformed("unable to decode payload", err.Error())
	}
	return nil
}

// Round makes the due registrations in Almanacs. Run does so every few seconds.
func (d *Door) Round(ctx context.Context) { d.registrar.round(ctx, d.services()) }

// Run implements door.Runner. It replies to the postponed envelopes, and keeps services registered, until ctx ends or Drain returns.
func (d *Door) Run(ctx context.Context) error {
	o := d.outbox
	defer o.courier.Close()
	defer o.almanac.Close()
	ctx, cancel := context.WithCancel(ctx)
	registering := make(chan struct{})
	defer func() {
		cancel()
		<-registering
	}()
	go func() {
		defer close(registering)
		d.registrar.run(ctx, d.Round)
	}()
	for {
		select {
		case m := <-o.queue:
			go o.answer(ctx, m)
		case <-o.cut:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// Drain implements door.Runner. It declares the services inactive, and waits until all postponed envelopes have been answered, or until ctx
// ends. left is the number of envelopes that have not been answered. Deliveries that fail from now on are not retried.
func (d *Door) Drain(ctx context.Context) (left int) {
	o := d.outbox
	close(o.closing)
	done := make(chan struct{})
	go func() {
		var ending sync.WaitGroup
		ending.Go(func() { d.registrar.end(ctx) })
		o.pending.Wait()
		ending.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		left, _ = o.places.Counts()
	}
	close(o.cut)
	return left
}

// answer processes one envelope and delivers the reply.
func (o *outbox) answer(ctx context.Context, m *laterReply) {
	defer o.pending.Done()
	defer m.leave()
	became, err := o.answered(ctx, m)
	o.tallies.ended(m.Service.ID, became, err)
	m.Later(door.Delivery{Outcome: m.Outcome, Door: Name, Became: became})
}

// answered processes an envelope, and delivers the reply. It returns the outcome, and the error if the reply was not delivered.
func (o *outbox) answered(ctx context.Context, m *laterReply) (became string, err error) {
	body := o.body(ctx, m)
	m.share.Close()
	if m.early != nil {
		err = <-m.early
	}
	switch {
	case len(body) == 0:
		return unwritten, nil
	case err != nil: // the envelope that was sent ahead was not delivered, so the reply would not be delivered either
		return m.lost(err)
	}
	m.raw, m.Payload = nil, ""
	held := m.share.Beside() // only for the reply, until it is delivered
	defer held.Close()
	if held.Take(int64(len(body))) != nil {
		return noMemory, membudget.ErrExhausted
	}
	if err := o.deliver(ctx, &m.exchange, body); err != nil {
		return m.lost(err)
	}
	return delivered, nil
}

// deliver delivers an envelope to the sender of an exchange. The error is a *delivery.Error, or the error of route.
func (o *outbox) deliver(ctx context.Context, x *exchange, body []byte) error {
	route, err := o.route(ctx, x)
	if err != nil {
		return err
	}
	if x.mailed(route) {
		if o.mailboxes.Put(x.Service.ID, x.Sender, body) != nil {
			return &delivery.Error{Cause: delivery.NoEndpoint, Err: errMailbox}
		}
		return nil
	}
	route.Unapproved = x.unapproved(ctx)
	if err = o.courier.Deliver(ctx, route, body, o.closing); err != nil {
		o.lost(x)
	}
	return err
}

// lost returns the outcome of a reply that was not delivered.
func (m *laterReply) lost(err error) (became string, _ error) {
	if failed, ok := errors.AsType[*delivery.Error](err); ok {
		return string(failed.Cause), err
	}
	return string(delivery.NoEndpoint), err
}

// sendAhead delivers an envelope while the exchange continues. The reply waits for this delivery.
func (o *outbox) sendAhead(ctx context.Context, m *laterReply, e envelope.Envelope) {
	m.early = make(chan error, 1)
	go func() {
		body, err := json.Marshal(e)
		if err == nil {
			err = o.deliver(ctx, &m.exchange, body)
		}
		m.early <- err
	}()
}

// body returns the reply to an envelope as JSON, or nil if no reply could be produced.
func (o *outbox) body(ctx context.Context, m *laterReply) (body []byte) {
	defer func() {
		if p := recover(); p != nil {
			m.Refusal, body = refusal.Panic(p), nil
		}
	}()
	m.r = m.r.WithContext(membudget.With(ctx, m.share))
	m.ahead = func(e envelope.Envelope) { o.sendAhead(ctx, m, e) }
	var answer envelope.Envelope
	var f *fault
	leave, err := o.answerPlaces.Take(ctx, m.party)
	if err == nil {
		defer leave()
	}
	switch {
	case err != nil:
		answer, f = m.written(m.refuse(reason.Overloaded.Refusal("").After(fullWait).ShedFor(reason.ShedEnvelopes)))
	case !m.current():
		answer, f = m.written(m.explain(reason.NoSuchPath.Refusal(moved), moved))
	default:
		answer, f = m.answer() //nolint:contextcheck // the request in m carries the context
	}
	if f != nil {
		m.Refusal = f.refusal
		return nil
	}
	if body, err = json.Marshal(answer); err != nil {
		m.Refusal = unwritable(err).refusal
		return nil
	}
	return body
}

// unapproved reports whether the operator has not approved the sender.
func (x *exchange) unapproved(ctx context.Context) bool {
	return x.Unapproved(ctx, pat.Principal(x.Sender))
}
