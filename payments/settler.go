package payments

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/internal/delay"
	"github.com/uimgate/uimgate/payments/x402"
	"github.com/uimgate/uimgate/store"
)

const (
	// lease is how long a process has a payment for itself, unless it renews the claim. When the lease ends, another process continues.
	lease = 10 * time.Second
	// renewEvery is how often a process renews a claim.
	renewEvery = 3 * time.Second
	// roundEvery is how often a process looks for payments that are due.
	roundEvery = time.Second
	// askedAfter is how long the facilitator is asked about a payment after its authorization has ended.
	askedAfter = 10 * time.Minute
	// The pauses between requests to the facilitator grow with the age of the payment.
	leastPause, mostPause = time.Second, 5 * time.Second
	// repeatTimeout is the time limit of a repeated request to the facilitator, so that a payment is credited within 20 seconds of the
	// recovery of the facilitator.
	repeatTimeout = 10 * time.Second
	// lastMove is how long a process that ends tries to record that a payment was settled.
	lastMove = 5 * time.Second
	// dueAtOnce is the maximum number of payments that a process settles at once.
	dueAtOnce = 32
)

// Run settles payments whose outcome is unknown, or whose process has ended, until ctx ends. It returns nil.
func (c *Cashier) Run(ctx context.Context) error {
	tick := time.NewTicker(roundEvery)
	defer tick.Stop()
	r := round{free: make(chan struct{}, dueAtOnce)}
	defer r.all.Wait()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := c.begin(ctx, &r); err != nil && ctx.Err() == nil {
				c.Log.Warn("open payments cannot be read", zap.Error(err))
			}
		}
	}
}

// A round is the payments that a process settles at once. free has an element for each of them.
type round struct {
	free chan struct{}
	all  sync.WaitGroup
}

// begin asks the facilitators about payments that are due, as far as there is room, and does not wait for them: a facilitator that does
// not answer delays only its own payments.
func (c *Cashier) begin(ctx context.Context, r *round) error {
	room := cap(r.free) - len(r.free)
	if room == 0 {
		return nil
	}
	due, err := c.Book.DuePayments(ctx, c.Now(), room)
	if err != nil {
		return err
	}
	for _, p := range due {
		r.free <- struct{}{}
		r.all.Go(func() {
			defer func() { <-r.free }()
			c.resume(ctx, p)
		})
	}
	return nil
}

// Settle asks the facilitators about the payments that are due, at most 32, once, and waits for the answers.
func (c *Cashier) Settle(ctx context.Context) error {
	r := round{free: make(chan struct{}, dueAtOnce)}
	defer r.all.Wait()
	return c.begin(ctx, &r)
}

// resume asks the facilitator about a payment, unless another process does.
func (c *Cashier) resume(ctx context.Context, p store.Payment) {
	now := c.Now()
	if p.State == store.PaymentSettling && len(p.Payload) == 0 { // its process ended before it asked the facilitator to settle anything
		if err := c.Book.DropPayment(ctx, p.Service, p.Reference, p.ChangedAt); err == nil {
			c.Log.Info("payment dropped: the facilitator was not asked to settle it", zap.String("service", p.Service),
				zap.String("reference", p.Reference))
		}
		return
	}
	if !p.AskUntil.After(now) { // it stays listed until the operator decides
		c.move(ctx, &p, store.PaymentMove{To: store.PaymentUnknown, Reason: cmp.Or(p.Reason, "the facilitator did not answer in time")})
		return
	}
	offer := c.Offer(p.Service)
	if offer == nil || offer.X402 == nil {
		c.move(ctx, &p, store.PaymentMove{
			To: store.PaymentUnknown, Reason: "the configuration has no facilitator for the service", NextAt: now.Add(mostPause),
		})
		return
	}
	p, err := c.Book.MovePayment(ctx, p.Service, p.Reference, store.PaymentMove{
		To: p.State, Reason: p.Reason, NextAt: now.Add(lease), After: p.ChangedAt,
	})
	if err != nil {
		return // another process has it, or the store is not available
	}
	claim := c.claim(ctx, p)
	s := c.repeat(ctx, offer.X402.Facilitator, p.Payload)
	p = claim.release()
	if ctx.Err() != nil && s.Outcome != x402.Settled {
		return // the process ends: the result of the request is not known
	}
	if order, err := x402.OrderOf(p.Payload); err == nil {
		s = order.Judge(s)
	}
	if ctx.Err() != nil { // the process ends, and the facilitator's answer must not be lost
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(context.WithoutCancel(ctx), lastMove)
		defer stop()
	}
	if _, err := c.record(ctx, p, s); err != nil && !errors.Is(err, store.ErrPaymentMoved) {
		c.Log.Warn("outcome of a payment not recorded", zap.String("service", p.Service), zap.String("reference", p.Reference), zap.Error(err))
	}
}

// repeat asks a facilitator again to settle a payment.
func (c *Cashier) repeat(ctx context.Context, f *x402.Facilitator, order []byte) x402.Settlement {
	ctx, stop := context.WithTimeout(ctx, repeatTimeout)
	defer stop()
	return f.Settle(ctx, order, true)
}

// record writes the outcome of a settlement. The payment and its entry in the ledger are one transaction.
func (c *Cashier) record(ctx context.Context, p store.Payment, s x402.Settlement) (out store.Payment, err error) {
	switch s.Outcome {
	case x402.Settled:
		out, err = c.persist(ctx, &p, store.PaymentMove{To: store.PaymentCredited, Tx: s.Transaction})
		if err != nil && !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrSettled) { // such as a balance out of range
			return c.keep(ctx, p, s.Transaction, "settled, but it cannot be entered: "+err.Error())
		}
	case x402.Failed:
		out, err = c.persist(ctx, &p, store.PaymentMove{
			To: store.PaymentFailed, Tx: s.Transaction, Reason: s.Reason, After: p.ChangedAt,
		})
	default:
		return c.keep(ctx, p, s.Transaction, s.Reason)
	}
	if err == nil {
		c.note(&out)
	}
	return out, err
}

// persist records that a payment has ended. It tries again while the store is unavailable.
func (c *Cashier) persist(ctx context.Context, p *store.Payment, to store.PaymentMove) (out store.Payment, err error) {
	for pause := range pauses {
		out, err = c.Book.MovePayment(ctx, p.Service, p.Reference, to)
		if err == nil || !errors.Is(err, store.ErrUnavailable) || delay.For(ctx, pause) != nil {
			break
		}
	}
	return out, err
}

// keep records that the outcome of a payment is unknown, and when the facilitator is asked next.
func (c *Cashier) keep(ctx context.Context, p store.Payment, tx, why string) (store.Payment, error) {
	now := c.Now()
	out, err := c.Book.MovePayment(ctx, p.Service, p.Reference, store.PaymentMove{
		To: store.PaymentUnknown, Tx: tx, Reason: why, After: p.ChangedAt,
		NextAt: now.Add(min(max(leastPause, now.Sub(p.BegunAt)/2), mostPause)),
	})
	if err == nil && p.State != store.PaymentUnknown {
		c.note(&out)
	}
	return out, err
}

func (c *Cashier) move(ctx context.Context, p *store.Payment, to store.PaymentMove) {
	to.After = p.ChangedAt
	out, err := c.Book.MovePayment(ctx, p.Service, p.Reference, to)
	if err == nil && p.State != to.To {
		c.note(&out)
	}
}

// note counts and logs a payment that has reached a state.
func (c *Cashier) note(p *store.Payment) {
	c.Count(p.Rail, p.State)
	level := zap.InfoLevel
	if p.State == store.PaymentUnknown {
		level = zap.WarnLevel
	}
	c.Log.Log(level, "payment", zap.String("service", p.Service), zap.String("agent_id", string(p.AgentID)), zap.String("rail", p.Rail),
		zap.String("kind", string(p.Kind)), zap.Stringer("amount", p.Amount), zap.String("state", string(p.State)),
		zap.String("reference", p.Reference), zap.String("transaction", p.Tx), zap.String("why", p.Reason))
}

// A claim keeps a payment for this process until it is released.
type claim struct {
	payment store.Payment
	stop    context.CancelFunc
	done    chan struct{}
}

// claim renews the claim of a payment in the background.
func (c *Cashier) claim(ctx context.Context, p store.Payment) *claim {
	ctx, stop := context.WithCancel(ctx)
	k := &claim{payment: p, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(k.done)
		tick := time.NewTicker(renewEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				out, err := c.Book.MovePayment(ctx, p.Service, p.Reference, store.PaymentMove{
					To: k.payment.State, Reason: k.payment.Reason, NextAt: c.Now().Add(lease), After: k.payment.ChangedAt,
				})
				if err == nil {
					k.payment = out
				}
			}
		}
	}()
	return k
}

// release ends the renewals, and returns the payment as it was last recorded.
func (k *claim) release() store.Payment {
	k.stop()
	<-k.done
	return k.payment
}

// pauses yields the pauses between attempts to record that a payment has ended: about half a minute together.
func pauses(yield func(time.Duration) bool) {
	for pause := 100 * time.Millisecond; pause < 20*time.Second; pause *= 2 {
		if !yield(pause) {
			return
		}
	}
}
