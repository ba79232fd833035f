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

	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
)

// TestStopDoesNotWaitForAnEndpoint stops a process while an endpoint does not accept an answer.
func TestStopDoesNotWaitForAnEndpoint(t *testing.T) {
	t.Parallel()
	requested, release := make(chan struct{}), make(chan struct{})
	endpoint := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(requested)
		<-release
	}))
	t.Cleanup(endpoint.Close)
	defer close(release)
	a := startUAgent(t, endpoint.URL, strings.Replace(testConfig, "server: {", "server: {drain_timeout: 10ms, ", 1), nil)
	if got := a.post("UIMPolicyRequest", "{}", ""); got.status != http.StatusOK {
		t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusOK)
	}
	<-requested
	a.g.cancel()
	a.g.stop()
	if log := a.g.log.String(); !strings.Contains(log, `"messages":1`) {
		t.Errorf("the log does not report the undelivered replies: %s, want a text that contains %q", log, `"messages":1`)
	}
}

// A uagent is an agent of the uAgents protocol that calls a gateway with a door for that protocol.
type uagent struct {
	t         *testing.T
	g         *gate
	key, shop identity.Key
}

// startUAgent starts a gateway that posts the answers for the agent to endpoint.
func startUAgent(t *testing.T, endpoint, config string, upstream http.HandlerFunc) *uagent {
	t.Helper()
	a := &uagent{t: t}
	var err, also error
	a.key, err = identity.FromSeed("the seed of an agent", 0)
	a.shop, also = identity.FromSeed("the seed of the shop", 0)
	if err != nil || also != nil {
		t.Fatalf("got %v, %v; want nil, nil", err, also)
	}
	door := fmt.Sprintf("  doors: {uagents: {key_file: seed.txt, rules: {%s: %q}}}\n", a.key.Address(), endpoint)
	a.g = startGate(t, setup{config: config + door, files: map[string]string{"seed.txt": "the seed of the shop\n"}, upstream: upstream})
	return a
}

// post sends a message. connection is sync if the agent waits for the answer.
func (a *uagent) post(model, message, connection string) answer {
	a.t.Helper()
	until := uint64(time.Now().Add(time.Minute).Unix())
	body, err := json.Marshal(envelope.Envelope{
		Target: a.shop.Address(), Session: envelope.NewSession(), SchemaDigest: protocol.Standard(model).Digest,
		Payload: envelope.Pack([]byte(message)), Expires: &until,
	}.Sign(a.key))
	if err != nil {
		a.t.Fatal(err)
	}
	return a.g.do("POST", "/submit", body, header{"Content-Type": "application/json", "X-Uagents-Connection": connection})
}

// opened returns the message in an envelope of the shop.
func (a *uagent) opened(body []byte) (model string, message []byte) {
	a.t.Helper()
	e, err := envelope.Parse(body)
	if err != nil || e.Verify() != nil || e.Sender != a.shop.Address() {
		a.t.Fatalf("%v: %s", err, body)
	}
	model, _ = protocol.NameOf(e.SchemaDigest)
	message, err = e.Message()
	if err != nil {
		a.t.Fatal(err)
	}
	return model, message
}

// TestAcceptedEnvelopesAreAnsweredBeforeTheEnd sends an envelope and stops the process. Only then does the service respond.
func TestAcceptedEnvelopesAreAnsweredBeforeTheEnd(t *testing.T) {
	t.Parallel()
	came := make(chan []byte, 2)
	endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		came <- body
	}))
	t.Cleanup(endpoint.Close)
	shop := newHeldShop(`{"order_id":"o-1"}`)
	a := startUAgent(t, endpoint.URL, testConfig, shop.serve)
	var policy struct{ Digest, Issuer string }
	_, message := a.opened(a.post("UIMPolicyRequest", "{}", "sync").body)
	if err := json.Unmarshal(message, &policy); err != nil {
		t.Fatal(err)
	}
	var agreed struct{ PAT string }
	_, message = a.opened(a.post("UIMAgree", fmt.Sprintf(`{"policy_digest": %q, "issuer": %q}`, policy.Digest, policy.Issuer), "sync").body)
	if err := json.Unmarshal(message, &agreed); err != nil || agreed.PAT == "" {
		t.Fatalf("%v: %s", err, message)
	}
	sent := fmt.Sprintf(`{"intent_uid": %q, "parameters": {"product_id": "p"}, "pat": %q}`, order, agreed.PAT)
	shop.endsDuring(a.g, func() {
		if got := a.post("UIMExecute", sent, ""); got.status != http.StatusOK || string(got.body) != "{}" {
			t.Fatalf("got %d %s", got.status, got.body)
		}
	}, func() {
		model, message := a.opened(<-came)
		if model != "UIMResult" || !strings.Contains(string(message), "o-1") {
			t.Errorf("got %s %s", model, message)
		}
	})
}
