// Package relay is a relay of the Machine Relay Protocol, version 1. It stores messages and blobs for agents, which are identified only
// by their keys, and delivers them to their recipients at least once. It does not interpret them.
//
//	r, err := relay.New(relay.Options{Store: state, Blobs: dir, Now: time.Now})
//	go r.Run(ctx)
//	http.Serve(listener, r)
//
// A message is durable before its sender gets the response. It stays "sent" until the recipient has it: in a poll, after the page was
// written; over a WebSocket, after its acknowledgement or half a minute later; by a webhook, after the response 200. If delivery fails
// before that, the message arrives again.
package relay

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/uimgate/uimgate/internal/fairqueue"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/ratelimit"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/store/mail"
)

// Options of New.
type Options struct {
	// Store keeps everything except the bytes of blobs. Required.
	Store Store
	// Blobs is the directory for the bytes of blobs, which is created if it is missing. Replicas share it. Required.
	Blobs string
	// Now is the clock of the store. Required.
	Now func() time.Time
	// Limits bound the use; a zero field has its default.
	Limits Limits
	// Tolerance is how far the timestamp of a request may be from the clock. 0: wire.Tolerance.
	Tolerance time.Duration
	// Shared reports that other processes use the same store.
	Shared bool
	// PrivateWebhooks permits webhooks in closed networks, and http.
	PrivateWebhooks bool
	// Client returns the address or network of a caller, which bounds on unauthenticated requests use. nil: the address of the
	// connection.
	Client func(*http.Request) string
	// Budget bounds the memory of requests. nil: a quarter of the memory that the process may use.
	Budget *membudget.Budget
	// Prefix precedes the paths of the protocol if the relay is mounted below another path; it does not end in a slash.
	Prefix string
	// Version is shown in the health report and the API's description.
	Version string
	// Log receives errors of the relay, never the content of requests. nil: no log.
	Log *zap.Logger
	// Metrics registers the relay's metrics. nil: none.
	Metrics prometheus.Registerer

	times times // usual; tests have shorter times
}

// A Relay is an http.Handler of all routes. Run must run beside it.
type Relay struct {
	options        Options
	store          Store
	now            func() time.Time
	limits         Limits
	log            *zap.Logger
	blobs          *blobs
	mux            http.Handler
	hub            hub
	pollOrder      inTurn // of polls
	rates          rates
	unknownSenders *ratelimit.Set // requests before authentication
	newcomer       *ratelimit.Set // created agents
	postman        *fetch.Client
	posting        chan struct{} // holds one element for each claimed message
	postings       postings
	places         *fairqueue.Places // of attempts
	probes         *probes
	budget         *membudget.Budget
	bodies         pendingBodies
	answers        intake // bytes of large responses that are being written
	meter          *meter
	times          times
	socketLimit    socketLimit
	started        time.Time

	looking sync.Mutex
	looked  health

	mu       sync.Mutex
	draining bool
	locals   map[wire.Key]bool
	sockets  map[wire.Key]*inbox
	waiters  map[wire.Key]int // long polls
	work     sync.WaitGroup
	stop     chan struct{} // closed when draining begins
}

// New makes a relay. The error concerns the directory of blobs, or the metrics.
func New(o Options) (*Relay, error) {
	if o.Store == nil || o.Now == nil || o.Blobs == "" {
		return nil, errors.New("a relay needs a store, a clock and a directory for blobs")
	}
	o.Tolerance = cmp.Or(o.Tolerance, wire.Tolerance)
	o.Version = cmp.Or(o.Version, "unknown")
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Client == nil {
		o.Client = peer
	}
	if o.Budget == nil {
		o.Budget = membudget.NewBudget(membudget.Limit()/4, func() {})
	}
	o.times = cmp.Or(o.times, usual)
	if err := os.MkdirAll(o.Blobs, 0o700); err != nil {
		return nil, err
	}
	r := &Relay{
		options: o, store: o.Store, now: o.Now, limits: o.Limits.orDefault(), log: o.Log, blobs: &blobs{dir: o.Blobs}, budget: o.Budget,
		times: o.times, locals: map[wire.Key]bool{}, sockets: map[wire.Key]*inbox{}, waiters: map[wire.Key]int{},
		stop: make(chan struct{}), started: o.Now(),
		posting: make(chan struct{}, postClaims), postings: postings{of: map[mail.Key]int{}, room: make(chan struct{}, 1)},
		places: fairqueue.New(postSharing), probes: newProbes(),
		postman: fetch.New(fetch.Options{AllowInsecure: o.PrivateWebhooks, UserAgent: "uimgate-mrp-relay"}),
	}
	r.rates.limits, r.rates.now, r.socketLimit.most = r.limits, o.Now, r.limits.AllSockets
	r.answers.most, r.answers.each = r.limits.Answers, r.limits.AnswersEach
	r.blobs.intake.most, r.blobs.intake.each = r.limits.Intake, r.limits.IntakeEach
	r.unknownSenders, r.newcomer = ratelimit.NewSet(r.limits.UnknownSenders), ratelimit.NewSet(r.limits.Newcomers)
	var err error
	if r.meter, err = newMeter(o.Metrics); err != nil {
		return nil, err
	}
	r.mux = r.routes()
	return r, nil
}

// Run posts to webhooks, wakes waiters of messages that other processes stored, and deletes expired records, until ctx ends. Then it
// closes the WebSockets, and waits for work in progress.
func (r *Relay) Run(ctx context.Context) {
	var loops sync.WaitGroup
	loops.Go(func() { r.post(ctx) })
	loops.Go(func() { r.sweep(ctx) })
	loops.Go(func() { r.clean(ctx) })
	if r.options.Shared {
		loops.Go(func() { r.listen(ctx) })
	}
	loops.Go(func() { r.rates.forget(ctx) })
	<-ctx.Done()
	r.drain()
	loops.Wait()
	r.work.Wait()
	r.unknownSenders.Close()
	r.newcomer.Close()
	r.postman.Close()
}

// drain rejects new requests, and ends waiting ones.
func (r *Relay) drain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.draining {
		r.draining = true
		close(r.stop)
	}
}

// ending reports whether the relay rejects new requests.
func (r *Relay) ending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.draining
}

var errDraining = errors.New("the relay is ending")

// during runs work that the end of the relay waits for; it returns false if the relay is ending.
func (r *Relay) during(work func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining {
		return false
	}
	r.work.Go(work)
	return true
}
