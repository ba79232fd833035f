package daemon_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/uagents/envelope"
	"github.com/uimgate/uimgate/bindings/uagents/identity"
	"github.com/uimgate/uimgate/bindings/uagents/protocol"
)

// TestEnvelopesThatWereTakenAreAnsweredBeforeTheEnd takes an envelope, begins to end, and only then has the service answer.
func TestEnvelopesThatWereTakenAreAnsweredBeforeTheEnd(t *testing.T) {
	t.Parallel()
	key, err := identity.FromSeed("the seed of an agent", 0)
	if err != nil {
		t.Fatal(err)
	}
	shop, err := identity.FromSeed("the seed of the shop", 0)
	if err != nil {
		t.Fatal(err)
	}
	came := make(chan []byte, 2)
	endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		came <- body
	}))
	t.Cleanup(endpoint.Close)
	called, goOn := make(chan struct{}), make(chan struct{})
	door := fmt.Sprintf("  doors: {uagents: {key_file: seed.txt, rules: {%s: %q}}}\n", key.Address(), endpoint.URL)
	g := startGate(t, setup{
		config: testConfig + door, files: map[string]string{"seed.txt": "the seed of the shop\n"},
		upstream: func(w http.ResponseWriter, _ *http.Request) {
			close(called)
			<-goOn
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"order_id":"o-1"}`)
		},
	})
	post := func(model, message, connection string) answer {
		until := uint64(time.Now().Add(time.Minute).Unix())
		body, err := json.Marshal(envelope.Envelope{
			Target: shop.Address(), Session: envelope.NewSession(), SchemaDigest: protocol.Standard(model).Digest,
			Payload: envelope.Pack([]byte(message)), Expires: &until,
		}.Sign(key))
		if err != nil {
			t.Fatal(err)
		}
		return g.do("POST", "/submit", body, header{"Content-Type": "application/json", "X-Uagents-Connection": connection})
	}
	opened := func(body []byte) (model string, message []byte) {
		t.Helper()
		e, err := envelope.Parse(body)
		if err != nil || e.Verify() != nil || e.Sender != shop.Address() {
			t.Fatalf("%v: %s", err, body)
		}
		model, _ = protocol.NameOf(e.SchemaDigest)
		message, err = e.Message()
		if err != nil {
			t.Fatal(err)
		}
		return model, message
	}
	var policy struct{ Digest, Issuer string }
	_, message := opened(post("UIMPolicyRequest", "{}", "sync").body)
	if err := json.Unmarshal(message, &policy); err != nil {
		t.Fatal(err)
	}
	var agreed struct{ PAT string }
	_, message = opened(post("UIMAgree", fmt.Sprintf(`{"policy_digest": %q, "issuer": %q}`, policy.Digest, policy.Issuer), "sync").body)
	if err := json.Unmarshal(message, &agreed); err != nil || agreed.PAT == "" {
		t.Fatalf("%v: %s", err, message)
	}
	sent := fmt.Sprintf(`{"intent_uid": %q, "parameters": {"product_id": "p"}, "pat": %q}`, order, agreed.PAT)
	if a := post("UIMExecute", sent, ""); a.status != http.StatusOK || string(a.body) != "{}" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	<-called
	g.cancel()
	close(goOn)
	g.stop()
	model, message := opened(<-came)
	if model != "UIMResult" || !strings.Contains(string(message), "o-1") {
		t.Errorf("%s %s", model, message)
	}
}
