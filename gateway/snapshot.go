package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/pat"
)

// A Snapshot is one generation of the configuration, being served. Every request keeps the one it began
// with; a reload replaces it as a whole.
type Snapshot struct {
	byHost  map[string]*Service
	every   *Service // the only service, where it names no hosts: it answers to every one
	byID    map[string]*Service
	ordered []*Service
	proxies []netip.Prefix
	taken   time.Time
	hash    string
	metrics bool // telemetry.metrics
}

// service finds the service of a Host. The port does not matter.
func (s *Snapshot) service(host string) *Service {
	if s.every != nil {
		return s.every
	}
	return s.byHost[hostName(host)]
}

func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[] ")), ".")
}

func (s *Snapshot) trusted(address netip.Addr) bool {
	for _, p := range s.proxies {
		if p.Contains(address) {
			return true
		}
	}
	return false
}

func (s *Snapshot) trusts(remote string) bool { return len(s.proxies) > 0 && s.trusted(peer(remote)) }

// snapshot joins what was loaded to the state of this process.
func (s *Server) snapshot(l *Loaded) (*Snapshot, error) {
	out := &Snapshot{
		byHost: map[string]*Service{}, byID: map[string]*Service{}, proxies: l.config.Server.TrustedProxies, taken: s.now(), hash: configHash(l.config),
		metrics: l.config.Telemetry.Metrics,
	}
	var errs []error
	for i, service := range l.services {
		errs = append(errs, s.attach(service, &l.config.Services[i], &l.config.PAT))
		out.byID[service.ID] = service
		out.ordered = append(out.ordered, service)
		for _, host := range l.config.Services[i].Hosts {
			out.byHost[hostName(host)] = service
		}
		if len(l.config.Services[i].Hosts) == 0 {
			out.every = service
		}
	}
	return out, errors.Join(errs...)
}

// attach gives a service its issuer and what it publishes.
func (s *Server) attach(service *Service, c *config.Service, p *config.PAT) error {
	rules := pat.Rules{
		Service: service.ID, Issuer: service.Issuer, PolicyURL: service.at("/api/policy"), TTL: p.TTL, Leeway: p.Leeway, Grace: p.RenewGrace,
		Freshness: pat.Freshness(p.Freshness), Admission: pat.Admission(p.Admission),
	}
	for _, a := range p.Allow {
		rules.Allow = append(rules.Allow, pat.Known{AgentID: a.AgentID, KeyID: a.Key})
	}
	for _, party := range c.Parties {
		rules.Parties = append(rules.Parties, pat.Known{AgentID: party.AgentID, KeyID: party.Key})
	}
	issuer, err := pat.NewIssuer(pat.IssuerConfig{Rules: rules, Terms: service, Store: s.deps.Agreements, Keys: s.deps.Keys, View: s.deps.View, Now: s.now})
	if err != nil {
		return err
	}
	service.Issuance, service.Verifier = issuer, issuer.Verifier()
	if previous := s.current.Load(); previous != nil {
		if was := previous.byID[service.ID]; was != nil {
			service.past = pastOffers(was, service.policy.Digest)
		}
	}
	return nil
}

// pastOffers are the policies a service offered before this one, newest first.
func pastOffers(was *Service, digest string) []pat.Offer {
	var past []pat.Offer
	for _, o := range append([]pat.Offer{was.policy}, was.past...) {
		if o.Digest != digest && len(past) < pat.MaxPast {
			past = append(past, o)
		}
	}
	return past
}

// configHash names a configuration: SHA-256 over the digests of all its files.
func configHash(c *config.Config) string {
	h := sha256.New()
	for _, f := range c.Digests() {
		h.Write([]byte(f.SHA256))
	}
	return hex.EncodeToString(h.Sum(nil))
}
