// Package relay implements a relay of the Machine Relay Protocol, version 1. A relay stores messages and blobs for agents, which are
// identified only by their keys. It delivers each message to its recipient at least once, and does not interpret the content.
//
//	r, err := relay.New(relay.Options{Store: state, Blobs: dir, Now: time.Now})
//	go r.Run(ctx)
//	http.Serve(listener, r)
//
// A message is durable before its sender gets the response. Its status is "sent" until it counts as delivered: once the page of a poll is
// written, once the agent acknowledges it over a WebSocket or the WebSocket stays open for 30 seconds, or once a webhook responds with
// status 200. If delivery fails before that, the relay delivers the message again.
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

// Options are the options of New.
type Options struct {
	// Store stores everything except the content of blobs. Required.
	Store Store
	// Blobs is the directory for the content of blobs. New creates it if it is missing. Replicas must share it. Required.
	Blobs string
	// Now is the clock of the store. Required.
	Now func() time.Time
	// Limits restrict the use of the relay. A field that is zero has its default.
	Limits Limits
	// Tolerance is how far the timestamp of a request may be from the clock. 0 means wire.Tolerance.
	Tolerance time.Duration
	// Shared means that other processes use the same store.
	Shared bool
	// PrivateWebhooks permits webhooks at private addresses, and over http.
	PrivateWebhooks bool
	// Client returns the address or network that counts as one client for limits of unauthenticated requests. nil: the address of the
	// connection.
	Client func(*http.Request) string
	// Budget limits the memory of requests. nil: a quarter of the memory that the process may use.
	Budget *membudget.Budget
	// Prefix is the path where the relay is mounted, without a slash at the end. Empty: the root.
	Prefix string
	// Version is shown in the health report and on the page that describes the relay.
	Version string
	// Log receives errors of the relay, never the content of requests. nil: no log.
	Log *zap.Logger
	// Metrics registers the relay's metrics. nil: none.
	Metrics prometheus.Registerer

	times times // zero: usual
}

// A Relay is an http.Handler for all routes of the protocol. Run must be running while the Relay serves requests.
type Relay struct {
	options        Options
	store          Store
	now            func() time.Time
	limits         Limits
	log            *zap.Logger
	blobs          *blobs
	mux            http.Handler
	hub            hub
	pollOrder      inTurn // serializes the polls of each agent
	rates          rates
	unknownSenders *ratelimit.Set // requests of each client, before authentication
	newcomer       *ratelimit.Set // agents that each client creates
	postman        *fetch.Client
	posting        chan struct{} // holds one element for each claimed message
	postings       postings
	places         *fairqueue.Places // for attempts to post
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
	waiters  map[wire.Key]int // the number of waiting long polls of each agent
	work     sync.WaitGroup
	stop     chan struct{} // closed when draining begins
}

// New creates a relay. It returns an error if a required option is missing, if the directory of blobs cannot be created, or if the metrics
// cannot be registered.
func New(o Options) (*Relay, error) {
	if o.Store == nil || o.Now == nil || o.Blobs == "" {
		return nil, errors.New("a relay needs a store, a clock and a directory for blobs")
	}
	o.Tolerance = cmp.Or(o.Tolerance, wire.Tolerance)
	o.Version = cmp.Or(o.Version, "unknown")
	o.Log = cmp.Or(o.Log, zap.NewNop())
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

// Run posts messages to webhooks, wakes the recipients of messages that other processes store, and deletes expired records, until ctx ends.
// Then it closes the WebSockets, ends waiting polls, and waits for work in progress.
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

// drain makes the relay reject new WebSockets and report that it is not ready, and ends waiting polls and open WebSockets.
func (r *Relay) drain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.draining {
		r.draining = true
		close(r.stop)
	}
}

// ending reports whether drain has been called.
func (r *Relay) ending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.draining
}

var errDraining = errors.New("the relay is shutting down")

// during starts work in a goroutine, for which Run waits before it returns. It returns false if the relay is shutting down.
func (r *Relay) during(work func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining {
		return false
	}
	r.work.Go(work)
	return true
}
