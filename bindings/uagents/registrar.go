package uagents

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/uimgate/uimgate/bindings/uagents/almanac"
	"github.com/uimgate/uimgate/bindings/uagents/delivery"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
)

const (
	// registerEvery is the interval between registrations.
	registerEvery = time.Hour
	// lookEvery is the interval between checks whether a registration is due. A registration is due after a reload, after registerEvery, and
	// some time after a failure.
	lookEvery    = 10 * time.Second
	firstRetry   = 20 * time.Second // the pause after a failure; it doubles with each further failure, up to longestRetry
	longestRetry = 10 * time.Minute
	// requestsAtOnce is the maximum number of concurrent requests to Almanacs.
	requestsAtOnce = 8
)

// serviceProtocols returns the protocols that a service supports. own is the protocol of its own models; it may be nil. Agents search for
// services by protocol.
func serviceProtocols(own *protocol.Manifest) []protocol.Manifest {
	all := []protocol.Manifest{protocol.UIM(), protocol.Chat(), protocol.MCP(), protocol.Health()}
	if own != nil {
		all = append(all, *own)
	}
	return all
}

// protocols returns the digests of serviceProtocols.
func protocols(own *protocol.Manifest) (digests []string) {
	for _, m := range serviceProtocols(own) {
		digests = append(digests, string(m.Digest))
	}
	return digests
}

// A place is an Almanac in which a service must be registered, with the data to register.
type place struct {
	service, address string
	almanac          string // base URL; empty: the service's own
	endpoint         string
}

// A registration is the state of a place.
type registration struct {
	at       time.Time // time of the last registration; zero: never
	due      time.Time
	failures int
	err      error // why the last registration failed; nil: it succeeded
}

// A registrar keeps services registered. It is safe for concurrent use.
type registrar struct {
	client   *almanac.Client
	registry *almanac.Registry
	now      func() time.Time
	log      *zap.Logger
	sole     bool       // no other process registers the same services
	turn     sync.Mutex // held during a round, and by end
	gone     bool       // end was called; guarded by turn
	// settings are those of the services by their addresses, also of services that the gateway no longer serves. Rounds add to it.
	settings map[string]*Settings
	mu       sync.Mutex
	places   map[place]registration
}

// run calls round every lookEvery until ctx ends.
func (r *registrar) run(ctx context.Context, round func(context.Context)) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		round(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// round registers each service whose registration is due. It declares a service inactive if the gateway no longer serves it.
func (r *registrar) round(ctx context.Context, services []*service.Service) {
	r.turn.Lock()
	defer r.turn.Unlock()
	if r.gone {
		return
	}
	wanted := map[place]bool{}
	if r.settings == nil {
		r.settings = map[string]*Settings{}
	}
	for _, s := range services {
		if door := SettingsOf(s.Definition); door != nil {
			r.settings[door.Address] = door
		}
		for _, p := range placesOf(s) {
			wanted[p] = true
		}
	}
	var group errgroup.Group
	group.SetLimit(requestsAtOnce)
	for p, was := range r.known(wanted) {
		switch {
		case !wanted[p]:
			group.Go(func() error { r.leave(ctx, p, wanted); return nil })
		case !r.now().Before(was.due):
			group.Go(func() error { r.register(ctx, p, was); return nil })
		}
	}
	_ = group.Wait() // no function returns an error
}

// placesOf returns the places in which a service must be registered.
func placesOf(s *service.Service) (list []place) {
	door := SettingsOf(s.Definition)
	if door == nil {
		return nil
	}
	at := place{service: s.ID, address: door.Address, endpoint: s.At(door.Path)}
	if door.Registry {
		list = append(list, at)
	}
	if door.Almanac != nil {
		at.almanac = door.Almanac.String()
		list = append(list, at)
	}
	return list
}

// known adds the wanted places, and returns the registrations in all places.
func (r *registrar) known(wanted map[place]bool) map[place]registration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.places == nil {
		r.places = map[place]registration{}
	}
	for p := range wanted {
		if _, there := r.places[p]; !there {
			r.places[p] = registration{}
		}
	}
	return maps.Clone(r.places)
}

func (r *registrar) register(ctx context.Context, p place, was registration) {
	message := almanac.Statement{
		Endpoints: []delivery.Endpoint{{URL: p.endpoint, Weight: 1}}, Protocols: protocols(r.settings[p.address].manifest), At: r.now(),
	}
	var err error
	if p.almanac == "" {
		err = r.registry.RegisterOwn(ctx, p.service, p.address, message)
	} else {
		err = r.client.Register(ctx, p.almanac, r.settings[p.address].key, message)
	}
	if ctx.Err() != nil {
		return
	}
	next := registration{at: message.At, due: message.At.Add(registerEvery)}
	if err != nil {
		retry := min(firstRetry<<min(was.failures, 10), longestRetry)
		next = registration{at: was.at, due: message.At.Add(retry), failures: was.failures + 1, err: err}
	}
	r.changed(p, was.err, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.places[p] = next
}

// changed logs the first of consecutive failures to register in a place, and the first success after them. The status of the door shows
// each attempt.
func (r *registrar) changed(p place, before, now error) {
	log := r.log.With(zap.String("door", Name), zap.String("service", p.service), zap.String("almanac", cmp.Or(p.almanac, own)))
	switch {
	case now != nil && before == nil:
		log.Warn("not registered in an Almanac", zap.Error(now))
	case now == nil && before != nil:
		log.Info("registered in an Almanac again")
	}
}

// own is the name of the service's own Almanac.
const own = "own"

// leave removes a place, and declares the service inactive there unless another wanted place or another process still registers it in the
// same Almanac.
func (r *registrar) leave(ctx context.Context, p place, wanted map[place]bool) {
	still := slices.ContainsFunc(slices.Collect(maps.Keys(wanted)), func(other place) bool {
		return other.service == p.service && other.address == p.address && other.almanac == p.almanac
	})
	r.mu.Lock()
	was := r.places[p]
	delete(r.places, p)
	r.mu.Unlock()
	switch {
	case still || !r.sole || was.at.IsZero():
	case p.almanac == "":
		_ = r.registry.SetOwnStatus(ctx, p.service, p.address, false, r.now()) // after an error, the registration expires
	default:
		_ = r.client.SetStatus(ctx, p.almanac, r.settings[p.address].key, false, r.now()) // after an error, the registration expires
	}
}

// end declares the services inactive in all places. It stops when ctx ends. Later rounds do nothing.
func (r *registrar) end(ctx context.Context) {
	r.turn.Lock()
	defer r.turn.Unlock()
	r.gone = true
	var group errgroup.Group
	group.SetLimit(requestsAtOnce)
	for p := range r.known(nil) {
		group.Go(func() error { r.leave(ctx, p, nil); return nil })
	}
	_ = group.Wait() // no function returns an error
}

// A Registration is the state of a service's registration in an Almanac.
type Registration struct {
	Almanac string    `json:"almanac"`           // base URL, or own for the Almanac of the service itself
	At      time.Time `json:"at,omitzero"`       // time of the last registration; zero: never
	Error   string    `json:"error,omitempty"`   // why the last registration failed
	Retry   time.Time `json:"retry_at,omitzero"` // time of the next attempt
}

// of returns the registrations of a service.
func (r *registrar) of(service string) []Registration {
	list := []Registration{}
	for p, now := range r.known(nil) {
		if p.service != service {
			continue
		}
		registration := Registration{Almanac: cmp.Or(p.almanac, own), At: now.at}
		if now.err != nil {
			registration.Error, registration.Retry = now.err.Error(), now.due
		}
		list = append(list, registration)
	}
	slices.SortFunc(list, func(a, b Registration) int { return cmp.Compare(a.Almanac, b.Almanac) })
	return list
}
