package bindings_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/strictjson"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// answered sends a message in an envelope with the given expiry, and returns the model and the message of the reply.
func (p *uagentsPeer) answered(model, message string, expires *uint64) (answer string, reply strictjson.Object) {
	p.Helper()
	e := p.unsigned(model, message)
	e.Expires = expires
	answer, text := p.opens(p.submit(http.MethodPost, p.text(e.Sign(p.key))))
	reply, err := strictjson.DecodeObject(text)
	p.Must(err)
	return answer, reply
}

func order(token string) string {
	return fmt.Sprintf(`{"intent_uid": %q, "parameters": {"product": "lamp"}, "pat": %q}`, gatetest.Ordering, token)
}

// A call that costs money needs a proof of key unless the operator permits calls without one; an envelope is a proof.
func TestEnvelopeIsProofOfKey(t *testing.T) {
	t.Parallel()
	p := openedAs(t, strings.Replace(uagentsSettings, gatetest.Unproved+", ", "", 1))
	token := p.agreed()
	if model, reply := p.answered("UIMExecute", order(token), nil); model != "UIMFault" ||
		reply.Text("reason") != "POLICY_REQUIRES_VERIFICATION" || !strings.Contains(reply.Object("details").Text("suggestion"), "expires") {
		t.Errorf("an envelope that never expires: %s %v", model, reply)
	}
	if model, reply := p.ask("UIMExecute", order(token)); model != "UIMResult" || !strings.HasPrefix(reply.Text("charge"), "0.25 EUR") {
		t.Errorf("got %s %v", model, reply)
	}
	p.Refuses(p.Call("/api/intents/execute", token, strictjson.Object{
		"intent_uid": gatetest.Ordering, "parameters": strictjson.Object{"product": "lamp"},
	}), http.StatusForbidden, "POLICY_REQUIRES_VERIFICATION")
}

// A message that names no PAT uses the newest valid PAT of its sender.
func TestMessageWithoutPAT(t *testing.T) {
	t.Parallel()
	p := opened(t)
	var calls atomic.Int64
	p.Upstream = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"lamps": %d}`, calls.Add(1)) }
	first := p.agreed()
	p.Later(time.Second)
	second := p.agreed()
	none := strings.Replace(search("x"), `"x"`, "null", 1)
	if model, reply := p.ask("UIMExecute", none); model != "UIMResult" {
		t.Fatalf("got %s %v; want %q", model, reply, "UIMResult")
	}
	if model, reply := p.answered("UIMExecute", none, nil); model != "UIMFault" || reply.Text("reason") != "POLICY_REQUIRES_VERIFICATION" {
		t.Errorf("in an envelope that never expires: %s %v", model, reply)
	}
	if model, reply := p.answered("UIMExecute", search(second), nil); model != "UIMResult" {
		t.Errorf("with a PAT, in an envelope that never expires: %s %v; want %q", model, reply, "UIMResult")
	}
	for i, token := range []string{second, first} {
		if a := p.Call("/api/pat/revoke", token, strictjson.Object{"token": token}); a.Status != http.StatusOK {
			t.Fatalf("got %d %s; want %v", a.Status, a.Body, http.StatusOK)
		}
		p.Later(time.Duration(i+1) * time.Second)
		model, reply := p.ask("UIMExecute", none)
		if i == 0 && model != "UIMResult" {
			t.Errorf("with only the older PAT: %s %v", model, reply)
		}
		if i == 1 && (reply.Text("reason") != "REVOKED_TOKEN" || !strings.Contains(reply.Object("details").Text("suggestion"), "UIMAgree")) {
			t.Errorf("without a valid PAT: %s %v", model, reply)
		}
	}
	if calls.Load() != 3 {
		t.Errorf("got %d calls, want 3", calls.Load())
	}
}

func TestRenewal(t *testing.T) {
	t.Parallel()
	p := opened(t)
	token := p.agreed()
	p.Later(time.Minute)
	if model, reply := p.answered("UIMRenew", `{"pat": null}`, nil); model != "UIMFault" || reply.Text("reason") != "POLICY_REQUIRES_VERIFICATION" {
		t.Errorf("in an envelope that never expires: %s %v", model, reply)
	}
	e := p.unsigned("UIMRenew", fmt.Sprintf(`{"pat": %q}`, token)).Sign(p.key)
	model, text := p.opens(p.submit(http.MethodPost, p.text(e)))
	reply, err := strictjson.DecodeObject(text)
	p.Must(err)
	renewed := reply.Text("pat")
	if model != "UIMAgreed" || renewed == "" || renewed == token || reply.Number("expires_at") == "" || len(reply.List("scope")) != 2 {
		t.Fatalf("got %s %v", model, reply)
	}
	// An attacker who intercepted the envelope does not get the PAT.
	if model, text := p.opens(p.submit(http.MethodPost, p.text(e))); model != "UIMFault" || !strings.Contains(string(text), "PROOF_REPLAYED") {
		t.Errorf("got %s %s", model, text)
	}
	if model, reply := p.ask("UIMExecute", search(renewed)); model != "UIMResult" {
		t.Errorf("got %s %v; want %q", model, reply, "UIMResult")
	}
	if model, reply := p.ask("UIMRenew", `{}`); model != "UIMAgreed" {
		t.Errorf("of the newest PAT: %s %v; want %q", model, reply, "UIMAgreed")
	}
}
