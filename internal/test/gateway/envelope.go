package gatetest

import (
	"encoding/json"
	"time"

	"github.com/uimgate/uimgate/bindings/uagents/agreement"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
	"github.com/uimgate/uimgate/pat"
)

// AgreedInEnvelope returns a new agent of the uAgents protocol that has agreed with a signed envelope. Its id is its address. Its Key is
// another key, which did not sign the agreement.
func (g *Gate) AgreedInEnvelope(seed string) *Agent {
	g.Helper()
	key, err := identity.FromSeed(seed, 0)
	g.Must(err)
	service := g.Directory.Current().Service("default")
	message, err := json.Marshal(map[string]any{"policy_digest": service.Offer().Digest, "issuer": service.Issuer, "scope": nil})
	g.Must(err)
	until := uint64(g.Now().Add(30 * time.Second).Unix())
	raw, err := json.Marshal(envelope.Envelope{
		Target: key.Address(), Session: envelope.NewSession(), SchemaDigest: protocol.Standard("UIMAgree").Digest,
		Payload: envelope.Pack(message), Expires: &until,
	}.Sign(key))
	g.Must(err)
	issued, err := service.Issuance.Issue(g.Context(), pat.IssueRequest{Evidence: agreement.Evidence{Envelope: raw, Target: string(key.Address())}})
	g.Must(err)
	a := g.Unapproved(string(key.Address()))
	a.Token = issued.Token
	return a
}
