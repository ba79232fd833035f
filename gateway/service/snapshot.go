package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"go.uber.org/zap"

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
func (s *Server) snapshot(ctx context.Context, l *Loaded) (*Snapshot, error) {
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
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, service := range out.ordered {
		if err := s.offer(ctx, service); err != nil {
			return nil, err
		}
	}
	return out, nil
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
	return nil
}

// offer notes which policy a service offers from now on, and recalls those it offered before, newest first, also
// by other processes and before a restart.
func (s *Server) offer(ctx context.Context, service *Service) error {
	now := service.policy
	document := pat.PolicyDocument{Service: service.ID, Digest: now.Digest, UID: now.UID, Bytes: now.Bytes}
	if err := s.deps.Operations.OfferPolicy(ctx, document); err != nil {
		return fmt.Errorf("noting which policy is offered: %w", err)
	}
	recent, err := s.deps.Operations.RecentPolicies(ctx, service.ID, pat.MaxPast+1)
	if err != nil {
		return fmt.Errorf("reading which policies were offered before: %w", err)
	}
	for _, was := range recent {
		if was.Digest == now.Digest || len(service.past) == pat.MaxPast {
			continue
		}
		old, err := pat.NewOffer(was.Bytes, was.UID)
		if err != nil { // it only serves to tell somebody that it is an old one
			s.log.Warn("an earlier policy cannot be read", zap.String("service", service.ID), zap.String("digest", was.Digest), zap.Error(err))
			continue
		}
		service.past = append(service.past, old)
	}
	return nil
}

// configHash names a configuration: SHA-256 over the digests of all its files.
func configHash(c *config.Config) string {
	h := sha256.New()
	for _, f := range c.Digests() {
		h.Write([]byte(f.SHA256))
	}
	return hex.EncodeToString(h.Sum(nil))
}
