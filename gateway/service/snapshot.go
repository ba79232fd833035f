package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

// Settings are the settings of the listeners in a configuration.
type Settings struct {
	Proxies []netip.Prefix // trusted to name clients: server.trusted_proxies
	Metrics bool           // telemetry.metrics
	// AdminHosts are names that the operator's listener accepts, in addition to addresses and localhost: admin.hosts
	AdminHosts []string
}

// A Snapshot is one generation of the configuration in use. Every request keeps the one it began with; a reload replaces it as a whole.
type Snapshot struct {
	Settings
	TakenAt time.Time
	Hash    string // over the digests of all files of the configuration

	byHost  map[string]*Service
	every   *Service // the only service, if it names no hosts: it accepts every one
	byID    map[string]*Service
	ordered []*Service
}

// ForHost returns the service of a Host. It returns nil if no service has the host. The port is ignored.
func (s *Snapshot) ForHost(host string) *Service {
	if s.every != nil {
		return s.every
	}
	return s.byHost[HostName(host)]
}

// Service returns the service with this id. It returns nil if there is none.
func (s *Snapshot) Service(id string) *Service { return s.byID[id] }

// Trusts reports whether an address is that of a trusted proxy.
func (s *Snapshot) Trusts(address netip.Addr) bool {
	return slices.ContainsFunc(s.Proxies, func(p netip.Prefix) bool { return p.Contains(address) })
}

// Services lists all services in the order of the configuration.
func (s *Snapshot) Services() []*Service { return s.ordered }

// HostName returns a Host without its port, in the form for comparing hosts.
func HostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[] ")), ".")
}

// A State is the state that all services of a process share.
type State struct {
	Agreements pat.IssuerStore
	Policies   Policies
	Keys       *keys.Keyring
	View       *pat.View
	Log        *zap.Logger
	Now        func() time.Time
	// Forms are the forms of agreement of other protocols.
	Forms []pat.Form
	// Prepare makes what the doors of a service need before it is served, such as a key. nil: they need nothing.
	Prepare func(d *Definition) error
}

// Policies records which policies were offered.
type Policies interface {
	// OfferPolicy records that a policy is offered from now on.
	OfferPolicy(ctx context.Context, p pat.PolicyDocument) error
	// RecentPolicies lists at most limit policies, the newest first.
	RecentPolicies(ctx context.Context, service string, limit int) ([]pat.PolicyDocument, error)
}

// A Directory holds the services that are served now. It is safe for concurrent use.
type Directory struct {
	state   State
	current atomic.Pointer[Snapshot]
}

// New makes a Directory that serves nothing until Replace is called.
func New(state State) *Directory {
	d := &Directory{state: state}
	d.current.Store(&Snapshot{})
	return d
}

// Open makes a Directory that serves what was loaded.
func Open(ctx context.Context, state State, l *LoadedConfig) (*Directory, error) {
	d := New(state)
	if err := d.Replace(ctx, l); err != nil {
		return nil, err
	}
	return d, nil
}

// Current returns the present Snapshot.
func (d *Directory) Current() *Snapshot { return d.current.Load() }

// Replace serves another configuration from the next request on; after an error it continues as before.
func (d *Directory) Replace(ctx context.Context, l *LoadedConfig) error {
	next, err := d.snapshot(ctx, l)
	if err != nil {
		return err
	}
	for _, s := range d.current.Swap(next).ordered { // calls in progress end by themselves
		s.Upstream.Close()
	}
	return nil
}

// snapshot joins the loaded services to the state of this process. Policies are recorded as offered only when every service can be
// served.
func (d *Directory) snapshot(ctx context.Context, l *LoadedConfig) (*Snapshot, error) {
	out := &Snapshot{Settings: l.server, TakenAt: d.state.Now(), Hash: l.hash, byHost: map[string]*Service{}, byID: map[string]*Service{}}
	var errs []error
	for _, definition := range l.definitions {
		s, err := d.service(ctx, definition)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out.byID[s.ID] = s
		out.ordered = append(out.ordered, s)
		for _, host := range s.hosts {
			out.byHost[HostName(host)] = s
		}
		if len(s.hosts) == 0 {
			out.every = s
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, s := range out.ordered {
		offer := s.Offer()
		document := pat.PolicyDocument{Service: s.ID, Digest: offer.Digest, UID: offer.UID, Bytes: offer.Bytes}
		if err := d.note(ctx, document); err != nil {
			return nil, fmt.Errorf("noting which policy is offered: %w", err)
		}
	}
	return out, nil
}

// note records a policy as offered. If nothing can be written, for example because the disk is full, it suffices that it was the last
// recorded one.
func (d *Directory) note(ctx context.Context, document pat.PolicyDocument) error {
	err := d.state.Policies.OfferPolicy(ctx, document)
	if err == nil || !errors.Is(err, store.ErrUnavailable) {
		return err
	}
	last, unread := d.state.Policies.RecentPolicies(ctx, document.Service, 1)
	if unread != nil || len(last) == 0 || last[0].Digest != document.Digest {
		return err
	}
	d.state.Log.Warn("which policy is offered was noted before, and not now", zap.String("service", document.Service), zap.Error(err))
	return nil
}

// service makes a Service from a Definition: the one place where it gets its terms, its issuer and its verifier.
func (d *Directory) service(ctx context.Context, definition *Definition) (*Service, error) {
	if d.state.Prepare != nil {
		if err := d.state.Prepare(definition); err != nil {
			return nil, err
		}
	}
	past, err := d.past(ctx, definition)
	if err != nil {
		return nil, err
	}
	terms := newTerms(definition, past)
	issuer, err := pat.NewIssuer(pat.IssuerConfig{
		Rules: definition.rules, Terms: terms, Store: d.state.Agreements, Keys: d.state.Keys, View: d.state.View, Now: d.state.Now,
		Forms: d.state.Forms,
	})
	if err != nil {
		return nil, err
	}
	return &Service{Definition: definition, Verifier: issuer.Verifier(), Issuance: issuer, terms: terms}, nil
}

// past reads the previously offered policies of a service, newest first, also of other processes and before a restart.
func (d *Directory) past(ctx context.Context, definition *Definition) ([]pat.Offer, error) {
	recent, err := d.state.Policies.RecentPolicies(ctx, definition.ID, pat.MaxPast+1)
	if err != nil {
		return nil, fmt.Errorf("reading which policies were offered before: %w", err)
	}
	var past []pat.Offer
	for _, was := range recent {
		if was.Digest == definition.offer.Digest || len(past) == pat.MaxPast {
			continue
		}
		old, err := pat.NewOffer(was.Bytes, was.UID)
		if err != nil { // it only serves to report that a policy is an old one
			d.state.Log.Warn("an earlier policy cannot be read", zap.String("service", definition.ID), zap.String("digest", was.Digest),
				zap.Error(err))
			continue
		}
		past = append(past, old)
	}
	return past, nil
}
