package almanac

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uimgate/uimgate/bindings/uagents/delivery"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/ratelimit"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
	"github.com/uimgate/uimgate/store"
)

// Bounds of a Registry.
const (
	// Kept is how long a registration is valid after it was signed. Agents register again every hour, and may miss one registration.
	Kept = 2 * time.Hour
	// MaxBody and MaxBatch are the maximum sizes of one attestation and of a batch, in bytes.
	MaxBody  = 64 << 10
	MaxBatch = 1 << 20

	maxInBatch = 100
	maxFound   = 100 // in one response
)

// perSource limits the registrations and status changes of one client, for all agents together.
var perSource = limit.Rate{Max: 60, Period: "minute"}

// Errors of a Registry, in addition to ErrAttestation and those of its Store.
var (
	ErrUnknown = errors.New("agent not found")
	ErrSearch  = errors.New("invalid search") // the text of the error describes the problem
	ErrFull    = errors.New("the maximum number of agents is registered")
	ErrTooMany = errors.New("the client or its network has registered the maximum number of agents, or has sent too many requests recently")
)

// A Store stores registrations.
type Store interface {
	Register(ctx context.Context, r store.Registration, bounds store.RegistrationBounds) error
	SetActive(ctx context.Context, service, address string, active bool, signed time.Time) error
	Registration(ctx context.Context, service, address string) (store.Registration, error)
	Registrations(ctx context.Context, service, protocol, after string, limit int) ([]store.Registration, error)
}

// A Registry is an Almanac: agents register signed endpoints in it, and others look them up. Each service has a separate directory. A
// Registry is safe for concurrent use.
type Registry struct {
	store   Store
	now     func() time.Time
	sources *ratelimit.Set
}

// NewRegistry returns a Registry whose registrations are in s.
func NewRegistry(s Store, now func() time.Time) *Registry {
	return &Registry{store: s, now: now, sources: ratelimit.NewSet(perSource)}
}

// Wait returns how long a client must wait after ErrTooMany.
func (r *Registry) Wait() time.Duration { return r.sources.Wait() }

// May returns an error of kind ErrAttestation if an agent may not register an endpoint.
type May func(agent identity.Address, e delivery.Endpoint) error

// Register registers the agent that has signed an attestation. source is the address or network of the client.
func (r *Registry) Register(ctx context.Context, service, source string, tree strictjson.Object, may May) error {
	if !r.sources.Admit(source, r.now()) {
		return ErrTooMany
	}
	a, err := r.attested(tree, may)
	if err != nil {
		return err
	}
	return r.register(ctx, service, source, a)
}

// attested reads an attestation, and checks that its endpoints may be registered.
func (r *Registry) attested(tree strictjson.Object, may May) (Attestation, error) {
	a, err := ParseAttestation(tree, r.now())
	if err != nil {
		return Attestation{}, err
	}
	for _, e := range a.Endpoints {
		if err := may(a.Address, e); err != nil {
			return Attestation{}, err
		}
	}
	return a, nil
}

// RegisterOwn registers an agent of this process, without verification.
func (r *Registry) RegisterOwn(ctx context.Context, service, address string, s Statement) error {
	return r.register(ctx, service, "", Attestation{
		Authorship: Authorship{Identifier: identity.Identifier{Address: identity.Address(address)}, At: s.At},
		Endpoints:  s.Endpoints, Protocols: s.Protocols, Metadata: json.RawMessage("null"),
	})
}

// SetOwnStatus records whether an agent of this process is active.
func (r *Registry) SetOwnStatus(ctx context.Context, service, address string, active bool, at time.Time) error {
	return r.store.SetActive(ctx, service, address, active, at)
}

// RegisterAll registers many agents, or none if one attestation is invalid. If a limit is reached, it returns the error after it has
// registered some of them.
func (r *Registry) RegisterAll(ctx context.Context, service, source string, tree strictjson.Object, may May) error {
	list, isList := tree["attestations"].([]any)
	if !isList || len(list) > maxInBatch {
		return wrong("attestations: want a list of at most 100")
	}
	attestations := make([]Attestation, 0, len(list))
	for _, item := range list {
		if !r.sources.Admit(source, r.now()) {
			return ErrTooMany
		}
		object, _ := strictjson.AsObject(item)
		a, err := r.attested(object, may)
		if err != nil {
			return err
		}
		attestations = append(attestations, a)
	}
	for _, a := range attestations {
		if err := r.register(ctx, service, source, a); err != nil {
			return err
		}
	}
	return nil
}

// A statement is the stored form of an attestation.
type statement struct {
	Endpoints []delivery.Endpoint `json:"endpoints"`
	Protocols []string            `json:"protocols"`
	Metadata  json.RawMessage     `json:"metadata"`
}

func (r *Registry) register(ctx context.Context, service, source string, a Attestation) error {
	record, err := json.Marshal(statement{a.Endpoints, a.Protocols, a.Metadata})
	if err != nil {
		return wrong("the statement cannot be encoded")
	}
	source, bounds := boundsOf(source)
	switch err := r.store.Register(ctx, store.Registration{
		Service: service, Address: string(a.Address), Network: string(a.Network), Record: record, Protocols: a.Protocols, Source: source,
		Active: true, AttestedAt: a.At, Until: a.At.Add(Kept),
	}, bounds); {
	case errors.Is(err, store.ErrOlder):
		return wrong("timestamp: the agent has sent a newer statement")
	case errors.Is(err, store.ErrFull):
		return ErrFull
	case errors.Is(err, store.ErrShare):
		return ErrTooMany
	default:
		return err
	}
}

// SetStatus records an agent's statement about whether it is active. It ignores the statement of an unregistered agent without an error,
// because agents send such a statement before they register.
func (r *Registry) SetStatus(ctx context.Context, service, source, address string, tree strictjson.Object) error {
	if !r.sources.Admit(source, r.now()) {
		return ErrTooMany
	}
	signed, active, err := ParseStatus(tree, r.now())
	switch {
	case err != nil:
		return err
	case string(signed.Address) != address:
		return wrong("agent_identifier: want the agent in the path")
	}
	if err := r.store.SetActive(ctx, service, address, active, signed.At); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return nil
}

// A registration is a registered agent, in the form for other agents.
type registration struct {
	Status    string              `json:"status"`
	Type      string              `json:"type"`
	Address   string              `json:"address"`
	Endpoints []delivery.Endpoint `json:"endpoints"`
	Protocols []string            `json:"protocols"`
	Metadata  json.RawMessage     `json:"metadata"`
	Expiry    string              `json:"expiry"`
}

// registrationOf converts a stored registration to the form for other agents.
func registrationOf(r *store.Registration) (registration, error) {
	var s statement
	if err := json.Unmarshal(r.Record, &s); err != nil {
		return registration{}, err
	}
	status := "active"
	if !r.Active {
		status = "offline"
	}
	// Some programs do not accept a time that ends in Z.
	expiry := r.Until.UTC().Format("2006-01-02T15:04:05.000000") + "+00:00"
	return registration{status, "custom", r.Address, s.Endpoints, s.Protocols, s.Metadata, expiry}, nil
}

// Record returns an agent's record as JSON, or ErrUnknown. network is agent or test-agent; empty: either.
func (r *Registry) Record(ctx context.Context, service, address, network string) ([]byte, error) {
	if _, err := identity.ParseAddress(address); err != nil { // it may contain characters that not every store accepts
		return nil, ErrUnknown
	}
	found, err := r.store.Registration(ctx, service, address)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && network != "" && found.Network != "" && found.Network != network:
		return nil, ErrUnknown
	case err != nil:
		return nil, err
	}
	record, err := registrationOf(&found)
	if err != nil {
		return nil, err
	}
	return json.Marshal(record)
}

// Endpoints returns the endpoints of an agent, or none if the agent is not registered.
func (r *Registry) Endpoints(ctx context.Context, service string, of identity.Address) ([]delivery.Endpoint, error) {
	found, err := r.store.Registration(ctx, service, string(of))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	record, err := registrationOf(&found)
	return record.Endpoints, err
}

// Search returns the JSON list of the agents that support a protocol. The member text of the query is the digest of the protocol, with or
// without the prefix proto:. Any other text finds no agents. The member limit is the maximum length of the list: 1 to 100, by default 100.
// The member after is the last address of the previous list.
func (r *Registry) Search(ctx context.Context, service string, tree strictjson.Object) ([]byte, error) {
	most := maxFound
	if tree["limit"] != nil {
		limit, err := tree.Number("limit").Int64()
		if err != nil || limit < 1 || limit > maxFound {
			return nil, fmt.Errorf("%w: limit: want a whole number from 1 to 100", ErrSearch)
		}
		most = int(limit)
	}
	list := []registration{}
	text := strings.TrimSpace(tree.Text("text"))
	protocol, err := envelope.ParseProtocolDigest("proto:" + strings.TrimPrefix(text, "proto:"))
	if err != nil {
		return json.Marshal(list)
	}
	after := tree.Text("after")
	if after != "" {
		if _, err := identity.ParseAddress(after); err != nil {
			return nil, fmt.Errorf("%w: after: want the last address of the previous list", ErrSearch)
		}
	}
	found, err := r.store.Registrations(ctx, service, string(protocol), after, most)
	if err != nil {
		return nil, err
	}
	for i := range found {
		record, err := registrationOf(&found[i])
		if err != nil {
			return nil, err
		}
		list = append(list, record)
	}
	return json.Marshal(list)
}
