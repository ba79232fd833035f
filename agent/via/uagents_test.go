package via_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/uimgate/uimgate/agent/via"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
)

// FuzzReadUAgents reads arbitrary messages that the key of the service has signed.
func FuzzReadUAgents(f *testing.F) {
	const session = "6b0c1b3e-7d5a-4c6e-9f10-2a3b4c5d6e7f"
	shop, err := identity.FromSeed("the seed of a shop", 0)
	if err != nil {
		f.Fatal(err)
	}
	robot, err := identity.FromSeed("the seed of a robot", 0)
	if err != nil {
		f.Fatal(err)
	}
	now := time.Unix(1_893_456_000, 0)
	door := via.UAgents{Service: shop.Address(), Key: robot, Now: func() time.Time { return now }}
	until := uint64(now.Unix() + 30)
	for model, message := range map[string]string{
		"UIMResult":    `{"output": {"a": 1}, "charge": "0.05 EUR; id=x; state=captured", "rate_limit": "\"p\";r=1;t=2", "replayed": true}`,
		"UIMAgreed":    `{"agreement_id": "a", "pat": "x.y.z", "expires_at": 1893456000, "scope": ["a:b:v1:execute"]}`,
		"UIMFault":     `{"code": "FORBIDDEN", "reason": "AGENT_BLOCKED", "message": "m", "details": {"status": "pending", "agreement_id": "a"}}`,
		"ErrorMessage": `{"error": "e"}`,
		"AgentHealth":  `{"agent_name": "a", "status": "healthy"}`,
	} {
		f.Add(model, []byte(message))
	}
	f.Fuzz(func(t *testing.T, model string, message []byte) {
		body, err := json.Marshal(envelope.Envelope{
			Target: robot.Address(), Session: session, SchemaDigest: protocol.Standard(model).Digest,
			Payload: envelope.Pack(message), Expires: &until,
		}.Sign(shop))
		if err != nil {
			t.Fatal(err)
		}
		got, err := door.Read(session, fetch.Answer{Status: http.StatusOK, Header: http.Header{}, Body: body, URL: &url.URL{}})
		if err != nil {
			if !errors.Is(err, via.ErrAnswer) || got.Body != nil || len(err.Error()) > 200 {
				t.Errorf("got %s, %v", got.Body, err)
			}
			return
		}
		tree, err := strictjson.DecodeObject(got.Body)
		if err != nil || got.Status < 200 || got.Status > 599 || got.Status >= 400 && tree.Object("error") == nil {
			t.Errorf("got %d %s, %v", got.Status, got.Body, err)
		}
	})
}
