package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

// Settings are the parts of a configuration that the listeners use.
type Settings struct {
	Proxies []netip.Prefix // networks whose forwarded addresses are trusted: server.trusted_proxies
	Metrics bool           // telemetry.metrics
	// AdminHosts are the host names that the operators' listener accepts, in addition to IP addresses and localhost: admin.hosts
	AdminHosts []string
	Console    bool   // admin.console
	Playground bool   // admin.playground
	TraceURL   string // telemetry.trace_url
}

// A Snapshot is the state of the configuration after one load. A request uses the Snapshot with which it began; a reload replaces the whole
// Snapshot.
type Snapshot struct {
	Settings
	TakenAt time.Time
	Hash    string // SHA-256 over the digests of all files of the configuration

	// These are the earliest versions of the services; inForce selects the version that is in force.
	byHost  map[string]*Service
	every   *Service // the only service, if it names no hosts: it accepts every host
	byID    map[string]*Service
	ordered []*Service
	now     func() time.Time
}

// ForHost returns the service for a Host header, or nil if no service has this host. It ignores the port. A single service without hosts
// has every host.
func (s *Snapshot) ForHost(host string) *Service {
	if s.every != nil {
		return s.inForce(s.every)
	}
	return s.inForce(s.byHost[HostName(host)])
}

// Service returns the service with this id, or nil if there is none.
func (s *Snapshot) Service(id string) *Service { return s.inForce(s.byID[id]) }

// inForce returns the version of a service that is in force now. of is the earliest version of the service; it may be nil.
func (s *Snapshot) inForce(of *Service) *Service {
	if of == nil || len(of.successors) == 0 {
		return of
	}
	return of.at(s.now())
}

// Trusts reports whether a trusted proxy has this address.
func (s *Snapshot) Trusts(address netip.Addr) bool {
	return slices.ContainsFunc(s.Proxies, func(p netip.Prefix) bool { return p.Contains(address) })
}

// Services lists all services in the order of the configuration, with the policies that are in force now.
func (s *Snapshot) Services() []*Service {
	list := make([]*Service, 0, len(s.ordered))
	for _, of := range s.ordered {
		list = append(list, s.inForce(of))
	}
	return list
}

// Versions lists all versions of all services: for each service, first the version that was in force when the configuration was loaded, and
// then the later ones.
func (s *Snapshot) Versions() []*Service {
	var list []*Service
	for _, of := range s.ordered {
		list = append(append(list, of), of.successors...)
	}
	return list
}

// HostName returns the host in a Host header, without port and brackets, and normalized for comparison.
func HostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[] ")), ".")
}

// A State holds the resources that all services of a process share.
type State struct {
	Agreements pat.IssuerStore
	Policies   Policies
	Keys       *keys.Keyring
	View       *pat.View
	Log        *zap.Logger
	Now        func() time.Time
	// Forms are the formats in which other protocols send agreements.
	Forms []pat.Form
	// Prepare creates the resources that the doors of a service need before the service is served, such as a key. It may be nil.
	Prepare func(d *Definition) error
}

// Policies stores which policies the services have offered.
type Policies interface {
	// OfferPolicy records that the service offers a policy from now on.
	OfferPolicy(ctx context.Context, p pat.PolicyDocument) error
	// RecentPolicies lists at most limit policies, the newest first.
	RecentPolicies(ctx context.Context, service string, limit int) ([]pat.PolicyDocument, error)
	// Policy returns the policy with a digest, or pat.ErrNotFound.
	Policy(ctx context.Context, service, digest string) (pat.PolicyDocument, error)
}

// A Directory holds the services that the gateway currently serves. It is safe for concurrent use.
type Directory struct {
	state   State
	current atomic.Pointer[Snapshot]

	mu       sync.Mutex
	replaced []*Service // services of earlier configurations whose child processes may still run
}

// New returns a Directory. It serves nothing until Replace is called.
func New(state State) *Directory {
	d := &Directory{state: state}
	d.current.Store(&Snapshot{})
	return d
}

// Open returns a Directory that serves a loaded configuration.
func Open(ctx context.Context, state State, l *LoadedConfig) (*Directory, error) {
	d := New(state)
	if err := d.Replace(ctx, l); err != nil {
		return nil, err
	}
	return d, nil
}

// Current returns the current Snapshot.
func (d *Directory) Current() *Snapshot { return d.current.Load() }

// Replace makes the Directory serve another configuration from the next request on, and closes the idle upstream connections of the
// previous one. After an error, the Directory continues to serve the previous configuration.
func (d *Directory) Replace(ctx context.Context, l *LoadedConfig) error {
	next, err := d.snapshot(ctx, l)
	if err != nil {
		return err
	}
	before := d.current.Swap(next).ordered
	for _, s := range before { // calls in progress continue to their end
		s.Upstream.Close()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.replaced = slices.DeleteFunc(d.replaced, func(s *Service) bool { return !hasProcesses(s) })
	for _, s := range before {
		if s.Upstream.IsMCP() {
			d.replaced = append(d.replaced, s)
		}
	}
	return nil
}

// hasProcesses reports whether child processes of a service still run.
func hasProcesses(s *Service) bool {
	report, _ := s.Upstream.ToolsReport()
	return report.Processes.Running+report.Processes.Closing > 0
}

// End closes the connections to all services, and ends their child processes, including those of earlier configurations. When ctx ends, it
// ends them by force. No call may follow.
func (d *Directory) End(ctx context.Context) {
	d.mu.Lock()
	replaced := d.replaced
	d.replaced = nil
	d.mu.Unlock()
	for _, s := range replaced {
		s.Upstream.End(ctx)
	}
	if current := d.current.Load(); current != nil {
		for _, s := range current.ordered {
			s.Upstream.End(ctx)
		}
	}
}

// snapshot combines the loaded services with the state of this process. It records the policies as offered only if there is no error for
// any service.
func (d *Directory) snapshot(ctx context.Context, l *LoadedConfig) (*Snapshot, error) {
	out := &Snapshot{
		Settings: l.server, TakenAt: d.state.Now(), Hash: l.hash, byHost: map[string]*Service{}, byID: map[string]*Service{}, now: d.state.Now,
	}
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
	for _, s := range out.Versions() {
		offer := s.Offer()
		document := pat.PolicyDocument{Service: s.ID, Digest: offer.Digest, UID: offer.UID, Bytes: offer.Bytes}
		if err := d.note(ctx, document, len(out.byID[s.ID].successors)+1); err != nil {
			return nil, fmt.Errorf("recording the offered policy: %w", err)
		}
	}
	return out, nil
}

// note records a policy as offered. If the store accepts no writes, for example because the disk is full, note still returns nil if this
// policy is among those that were recorded last.
func (d *Directory) note(ctx context.Context, document pat.PolicyDocument, few int) error {
	err := d.state.Policies.OfferPolicy(ctx, document)
	if err == nil || !errors.Is(err, store.ErrUnavailable) {
		return err
	}
	last, unread := d.state.Policies.RecentPolicies(ctx, document.Service, few)
	if unread != nil || !slices.ContainsFunc(last, func(p pat.PolicyDocument) bool { return p.Digest == document.Digest }) {
		return err
	}
	d.state.Log.Warn("the offered policy could not be recorded now, but it was recorded before", zap.String("service", document.Service), zap.Error(err))
	return nil
}

// service returns the Service for a Definition, with its terms, issuer and verifier, and those of its successors.
func (d *Directory) service(ctx context.Context, definition *Definition) (*Service, error) {
	if d.state.Prepare != nil {
		if err := d.state.Prepare(definition); err != nil {
			return nil, err
		}
	}
	all := append([]*Definition{definition}, definition.successors...)
	recent, err := d.state.Policies.RecentPolicies(ctx, definition.ID, maxEarlier+len(all))
	if err != nil {
		return nil, fmt.Errorf("reading the previously offered policies: %w", err)
	}
	var made []*Service
	for i, of := range slices.Backward(all) {
		s, err := d.version(ctx, of, all[:i], recent, made)
		if err != nil {
			return nil, err
		}
		made = append([]*Service{s}, made...)
	}
	return made[0], nil
}
