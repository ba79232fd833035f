package almanac

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/uimgate/uimgate/bindings/uagents/delivery"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
)

// Bounds of an agent's statement about itself.
const (
	// MaxAge is how far the clock of an agent may be off, in either direction.
	MaxAge       = 5 * time.Minute
	maxProtocols = 50
	maxMetadata  = 8 << 10 // bytes of JSON, compact
)

// ErrAttestation means that a statement is invalid, or is not signed by the agent. The error text is for the agent, and does not quote
// anything that the agent sent.
var ErrAttestation = errors.New("invalid attestation")

func wrong(what string) error { return fmt.Errorf("%w: %s", ErrAttestation, what) }

// An Authorship is the author and the time of a statement.
type Authorship struct {
	identity.Identifier

	At time.Time
}

// An Attestation is an agent's statement about itself: its endpoints, and the protocols that it supports.
type Attestation struct {
	Authorship

	Endpoints []delivery.Endpoint
	Protocols []string        // digests, sorted and without duplicates
	Metadata  json.RawMessage // an object; null: none
}

// ParseAttestation reads an attestation that its agent signed within MaxAge of now. The error is of kind ErrAttestation.
func ParseAttestation(tree strictjson.Object, now time.Time) (Attestation, error) {
	signed, err := parseSigned(tree, now)
	if err != nil {
		return Attestation{}, err
	}
	a := Attestation{Authorship: signed, Endpoints: []delivery.Endpoint{}, Protocols: []string{}}
	for _, part := range []func(strictjson.Object) error{a.readEndpoints, a.readProtocols, a.readMetadata} {
		if err := part(tree); err != nil {
			return Attestation{}, err
		}
	}
	return a, nil
}

func (a *Attestation) readEndpoints(tree strictjson.Object) error {
	list, isList := tree["endpoints"].([]any)
	if !isList || len(list) > delivery.MaxEndpoints {
		return wrong(fmt.Sprintf("endpoints: want a list of at most %d", delivery.MaxEndpoints))
	}
	for _, item := range list {
		member, _ := strictjson.AsObject(item)
		weight, err := member.Number("weight").Int64()
		e := delivery.Endpoint{URL: member.Text("url"), Weight: weight}
		if err != nil || weight < 0 {
			return wrong("endpoints: want a url, and a weight that is a whole number")
		}
		if err := e.Check(); err != nil {
			return wrong("endpoints: url: " + err.Error())
		}
		a.Endpoints = append(a.Endpoints, e)
	}
	return nil
}

func (a *Attestation) readProtocols(tree strictjson.Object) error {
	list, isList := tree["protocols"].([]any)
	if !isList || len(list) > maxProtocols {
		return wrong(fmt.Sprintf("protocols: want a list of at most %d", maxProtocols))
	}
	for _, item := range list {
		text, _ := item.(string)
		if _, err := envelope.ParseProtocolDigest(text); err != nil {
			return wrong("protocols: " + err.Error())
		}
		a.Protocols = append(a.Protocols, text)
	}
	slices.Sort(a.Protocols)
	a.Protocols = slices.Compact(a.Protocols)
	return nil
}

func (a *Attestation) readMetadata(tree strictjson.Object) error {
	metadata := tree["metadata"]
	_, isObject := strictjson.AsObject(metadata)
	text, err := strictjson.Append(nil, metadata)
	if err != nil || metadata != nil && !isObject || len(text) > maxMetadata {
		return wrong(fmt.Sprintf("metadata: want an object of at most %d bytes, or null", maxMetadata))
	}
	a.Metadata = text
	return nil
}

// ParseStatus reads an agent's signed statement about whether it is active. The error is of kind ErrAttestation.
func ParseStatus(tree strictjson.Object, now time.Time) (s Authorship, active bool, err error) {
	active, isFlag := tree["is_active"].(bool)
	if !isFlag {
		return Authorship{}, false, wrong("is_active: want true or false")
	}
	s, err = parseSigned(tree, now)
	return s, active, err
}

// parseSigned reads the author and the time of a statement. It verifies the signature, and that the time is within MaxAge of now.
func parseSigned(tree strictjson.Object, now time.Time) (Authorship, error) {
	name := "agent_identifier"
	if older := "agent_address"; !tree.Has(name) && tree.Has(older) {
		name = older
	}
	identifier, err := identity.ParseIdentifier(tree.Text(name))
	if err != nil || identifier.Address == "" {
		return Authorship{}, wrong(name + ": want the address of an agent")
	}
	seconds, err := tree.Number("timestamp").Int64()
	if err != nil {
		return Authorship{}, wrong("timestamp: want a Unix time in seconds")
	}
	signature, err := identity.ParseSignature(tree.Text("signature"))
	if err != nil {
		return Authorship{}, wrong("signature: want sig1…")
	}
	digest, err := digestOf(tree)
	if err != nil {
		return Authorship{}, wrong("the statement cannot be encoded")
	}
	if !identifier.Address.Verify(digest, signature) {
		return Authorship{}, wrong("signature: the agent's key did not sign this statement")
	}
	if at := time.Unix(seconds, 0); now.Sub(at) <= MaxAge && at.Sub(now) <= MaxAge {
		return Authorship{identifier, at}, nil
	}
	return Authorship{}, wrong("timestamp: want a time within 5 minutes of now")
}

// digestOf returns the signed digest: SHA-256 over the members except the signature, as ASCII JSON without spaces, sorted at every level.
// null members are included.
func digestOf(tree strictjson.Object) ([32]byte, error) {
	statement := maps.Clone(tree)
	delete(statement, "signature")
	text, err := strictjson.Append(nil, statement)
	if err != nil {
		return [32]byte{}, err
	}
	return sha256.Sum256(strictjson.AppendASCII(nil, text)), nil
}

// Attest returns the JSON of a statement of the agent with the given key: the members, the author, and the signature. It returns an error
// for a value that strictjson cannot encode.
func Attest(key identity.Key, statement strictjson.Object) ([]byte, error) {
	statement = maps.Clone(statement)
	statement["agent_identifier"] = identity.Identifier{Network: identity.Mainnet, Address: key.Address()}.String()
	digest, err := digestOf(statement)
	if err != nil {
		return nil, err
	}
	statement["signature"] = key.Sign(digest).String()
	return strictjson.Append(nil, statement)
}
