package bindings_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"

	"github.com/uimgate/uimgate/internal/strictjson"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
)

func TestFindAgreeAndExecute(t *testing.T) {
	t.Parallel()
	p := opened(t)
	var calls atomic.Int64
	p.Upstream = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"lamps": %d}`, calls.Add(1)) }
	if model, reply := p.ask("UIMSearch", `{"query": "order", "tags": null}`); model != "UIMIntents" || len(reply.List("intents")) != 1 {
		t.Errorf("got %s %v", model, reply)
	}
	model, reply := p.ask("UIMPolicyRequest", `{}`)
	if offer := p.Directory.Current().Service("default").Offer(); model != "UIMPolicy" || reply.Text("document") != string(offer.Bytes) ||
		reply.Text("digest") != offer.Digest || reply.Text("uid") != offer.UID {
		t.Errorf("got %s %v", model, reply)
	}
	token := p.agreed()
	model, reply = p.ask("UIMExecute", search(token))
	if model != "UIMResult" || reply.Object("output").Number("lamps") != "1" || reply.Flag("replayed") ||
		reply.Text("request_id") != "request-1" || reply["charge"] != nil || reply.Text("rate_limit") == "" ||
		reply.Text("intent_uid") != gatetest.Searching {
		t.Errorf("got %s %v", model, reply)
	}
	model, reply = p.ask("UIMExecute", fmt.Sprintf(`{"intent_uid": %q, "parameters": {"product": "lamp"}, "pat": %q}`, gatetest.Ordering, token))
	if model != "UIMResult" || !strings.HasPrefix(reply.Text("charge"), "0.25 EUR") {
		t.Errorf("got %s %v", model, reply)
	}
	named := 0
	for _, e := range p.Logs.All() {
		if e.ContextMap()["door"] == "uagents" {
			named++
		}
		if text := fmt.Sprint(e.ContextMap()); strings.Contains(text, token) || strings.Contains(text, "lamp") {
			t.Errorf("the log contains a secret: %s", text)
		}
	}
	if named != 2 {
		t.Errorf("%d calls in the log name the door, want 2", named)
	}
}

// An intercepted envelope can be sent again, also with the second valid signature that every signature has.
func TestAnEnvelopeIsDoneOnce(t *testing.T) {
	t.Parallel()
	p := opened(t)
	var calls atomic.Int64
	p.Upstream = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"lamps": %d}`, calls.Add(1)) }
	token := p.agreed()
	e := p.unsigned("UIMExecute", search(token)).Sign(p.key)
	other := e
	var s secp256k1.ModNScalar
	s.SetByteSlice(e.Signature[32:])
	negated := s.Negate().Bytes()
	copy(other.Signature[32:], negated[:])
	for i, sent := range []envelope.Envelope{e, e, other} {
		model, text := p.opens(p.submit(http.MethodPost, p.text(sent)))
		reply, err := strictjson.DecodeObject(text)
		p.Must(err)
		if model != "UIMResult" || reply.Object("output").Number("lamps") != "1" || reply.Flag("replayed") != (i > 0) {
			t.Errorf("%d: %s %s", i, model, text)
		}
	}
	if calls.Load() != 1 {
		t.Errorf("got %d calls, want 1", calls.Load())
	}
	if model, reply := p.ask("UIMAgree", p.agreement()); model != "UIMFault" || reply.Text("reason") != "AGREEMENT_REPLAYED" {
		t.Errorf("got %s %v", model, reply)
	}
	p.Later(time.Minute)
	if model, got := p.opens(p.submit(http.MethodPost, p.text(e))); model != "ErrorMessage" ||
		!bytes.Contains(got, []byte("Query envelope expired")) {
		t.Errorf("got %s %s", model, got)
	}
	if calls.Load() != 1 {
		t.Errorf("got %d calls, want 1", calls.Load())
	}
}

// Refusals have the same members as over HTTP.
func TestRefusalsMatchHTTP(t *testing.T) {
	t.Parallel()
	p := opened(t)
	token := p.agreed()
	for name, parameters := range map[string]string{
		"a missing parameter": `{}`, "an unknown parameter": `{"query": "lamp", "colour": "red"}`, "a parameter of another type": `{"query": 1}`,
	} {
		body := fmt.Sprintf(`{"intent_uid": %q, "parameters": %s`, gatetest.Searching, parameters)
		model, reply := p.ask("UIMExecute", body+fmt.Sprintf(`, "pat": %q}`, token))
		a := p.Call("/api/intents/execute", token, json.RawMessage(body+"}"), "UIM-Request-ID", "request-1")
		tree, err := strictjson.DecodeObject(a.Body)
		p.Must(err)
		want := tree.Object("error")
		if model != "UIMFault" || reply.Text("code") != want.Text("code") || reply.Text("message") != want.Text("message") ||
			reply.Text("reason") != want.Object("details").Text("reason") || fmt.Sprint(reply["details"]) != fmt.Sprint(want["details"]) {
			t.Errorf("%s: %s %v, want %v", name, model, reply, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	p := opened(t)
	for _, model := range []string{"UIMExecute", "UIMRenew"} {
		message := map[string]string{"UIMExecute": search(""), "UIMRenew": `{"pat": null}`}[model]
		if answer, reply := p.ask(model, message); answer != "UIMFault" || reply.Text("reason") != "MISSING_TOKEN" {
			t.Errorf("%s before any agreement: %s %v", model, answer, reply)
		}
	}
	token := p.agreed()
	other := p.Agreed("agent-2").Token
	for name, c := range map[string]struct{ model, message, answer, reason string }{
		"a PAT of another agent":         {"UIMExecute", search(other), "UIMFault", "INVALID_TOKEN"},
		"no PAT":                         {"UIMExecute", search("x"), "UIMFault", "INVALID_TOKEN"},
		"renewal of another agent's PAT": {"UIMRenew", fmt.Sprintf(`{"pat": %q}`, other), "UIMFault", "INVALID_TOKEN"},
		"renewal of an invalid PAT":      {"UIMRenew", `{"pat": "x"}`, "UIMFault", "INVALID_TOKEN"},
		"renewal of a number":            {"UIMRenew", `{"pat": 1}`, "UIMFault", "MALFORMED_REQUEST"},
		"an unknown intent":              {"UIMExecute", strings.Replace(search(token), "search", "seek", 1), "UIMFault", "INTENT_NOT_FOUND"},
		"an extra member":                {"UIMExecute", strings.Replace(search(token), `{`, `{"x": 1, `, 1), "UIMFault", "MALFORMED_REQUEST"},
		"unlimited depth":                {"UIMSearch", strings.Repeat(`{"a":`, 10_000), "UIMFault", "MALFORMED_REQUEST"},
		"unlimited values":               {"UIMExecute", `{"parameters": [` + strings.Repeat("0,", 120_000) + `0]}`, "UIMFault", "MALFORMED_REQUEST"},
		"a list":                         {"UIMExecute", `[]`, "UIMFault", "MALFORMED_REQUEST"},
		"a duplicate member":             {"UIMSearch", `{"query": "a", "query": "b"}`, "UIMFault", "MALFORMED_REQUEST"},
		"an invalid cursor":              {"UIMSearch", `{"cursor": "next"}`, "UIMFault", "MALFORMED_REQUEST"},
		"a query that is too long":       {"UIMSearch", `{"query": "` + strings.Repeat("x", 9999) + `"}`, "UIMFault", "INVALID_PARAMETER"},
		"another policy":                 {"UIMAgree", strings.Replace(p.agreement(), "sha-256:", "sha-256:x", 1), "UIMFault", "POLICY_MISMATCH"},
		"another issuer":                 {"UIMAgree", strings.Replace(p.agreement(), "shop.example", "shop.invalid", 1), "UIMFault", "AGREEMENT_MISDIRECTED"},
		"an unknown message":             {"Nobody", `{}`, "ErrorMessage", ""},
		"a chat":                         {"ChatMessage", `{}`, "ErrorMessage", ""},
		"a reply":                        {"UIMAgreed", `{}`, "ErrorMessage", ""},
		"health":                         {"HealthCheck", `{}`, "AgentHealth", ""},
	} {
		if model, reply := p.ask(c.model, c.message); model != c.answer || reply.Text("reason") != c.reason {
			t.Errorf("%s: %s %v, want %s %s", name, model, reply, c.answer, c.reason)
		}
	}
	for name, expires := range map[string]*uint64{"no time": nil, "a past time": at(p, -1), "a time too far in the future": at(p, 3600)} {
		e := p.unsigned("UIMAgree", p.agreement())
		e.Expires = expires
		if model, text := p.opens(p.submit(http.MethodPost, p.text(e.Sign(p.key)))); model != "UIMFault" ||
			!bytes.Contains(text, []byte("AGREEMENT_STALE")) {
			t.Errorf("%s: %s %s", name, model, text)
		}
	}
}

// at returns the time the given number of seconds from now.
func at(p *uagentsPeer, seconds int64) *uint64 {
	until := uint64(p.Now().Unix() + seconds)
	return &until
}
