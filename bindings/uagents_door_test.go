package bindings_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/strictjson"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
)

const (
	uagentsSeed     = "the seed of the shop, in one line"
	uagentsSettings = "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, " + gatetest.Unproved +
		", doors: {uagents: {key_file: seed.txt}}}\n"
)

// A uagentsPeer is an agent of the protocol that talks to a gateway.
type uagentsPeer struct {
	*gatetest.Gate
	key  identity.Key
	shop identity.Address
}

func opened(t *testing.T) *uagentsPeer {
	t.Helper()
	return openedAs(t, uagentsSettings)
}

func openedAs(t *testing.T, settings string) *uagentsPeer {
	t.Helper()
	g := gatetest.New(t, settings, func(g *gatetest.Gate) { g.Write("seed.txt", uagentsSeed+"\n") })
	return &uagentsPeer{g, keyOf(t, "alice recovery password"), keyOf(t, uagentsSeed).Address()}
}

func keyOf(t *testing.T, seed string) identity.Key {
	t.Helper()
	key, err := identity.FromSeed(seed, 0)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// unsigned returns an envelope to the shop that is valid for 30 seconds.
func (p *uagentsPeer) unsigned(model, message string) envelope.Envelope {
	until := uint64(p.Now().Add(30 * time.Second).Unix())
	return envelope.Envelope{
		Version: 1, Sender: p.key.Address(), Target: p.shop, Session: "6b0c1b3e-7d5a-4c6e-9f10-2a3b4c5d6e7f",
		SchemaDigest: digestOf(model), Payload: envelope.Pack([]byte(message)), Expires: &until,
	}
}

// digestOf returns the digest of a standard model, or a digest of an unknown model.
func digestOf(model string) envelope.ModelDigest {
	if d := protocol.Standard(model).Digest; d != "" {
		return d
	}
	return envelope.ModelDigest("model:" + strings.Repeat("0", 64))
}

func (p *uagentsPeer) text(e envelope.Envelope) string {
	p.Helper()
	raw, err := json.Marshal(e)
	p.Must(err)
	return string(raw)
}

// submit sends a body. header has pairs of names and values; an empty value removes the header.
func (p *uagentsPeer) submit(method, body string, header ...string) gatetest.Answer {
	p.Helper()
	r, err := http.NewRequestWithContext(p.Context(), method, p.URL+"/submit", strings.NewReader(body))
	p.Must(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Uagents-Connection", "sync")
	r.Header.Set("Uim-Request-Id", "request-1")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header[http.CanonicalHeaderKey(header[i])] = []string{header[i+1]}
		if header[i+1] == "" {
			delete(r.Header, http.CanonicalHeaderKey(header[i]))
		}
	}
	return p.Send(r)
}

// opens checks that a response is a valid, signed envelope from the shop to the peer, and returns its message.
func (p *uagentsPeer) opens(a gatetest.Answer) (model string, message []byte) {
	p.Helper()
	e, err := envelope.Parse(a.Body)
	if err != nil || a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/json" {
		p.Fatalf("%d %s: %v", a.Status, a.Body, err)
	}
	if err := e.Verify(); err != nil || e.Sender != p.shop || e.Target != p.key.Address() || e.Expires == nil || e.Timely(p.Now()) != nil ||
		e.Session != "6b0c1b3e-7d5a-4c6e-9f10-2a3b4c5d6e7f" {
		p.Errorf("%+v: %v", e, err)
	}
	message, err = e.Message()
	p.Must(err)
	model, _ = protocol.NameOf(e.SchemaDigest)
	return model, message
}

// ask sends a message, and returns the reply.
func (p *uagentsPeer) ask(model, message string) (answer string, reply strictjson.Object) {
	p.Helper()
	answer, text := p.opens(p.submit(http.MethodPost, p.text(p.unsigned(model, message).Sign(p.key))))
	reply, err := strictjson.DecodeObject(text)
	p.Must(err)
	return answer, reply
}

// agreement returns UIMAgree for the offered policy.
func (p *uagentsPeer) agreement() string {
	s := p.Directory.Current().Service("default")
	return fmt.Sprintf(`{"policy_digest": %q, "issuer": %q, "scope": null}`, s.Offer().Digest, s.Issuer)
}

// agreed agrees, and returns the PAT.
func (p *uagentsPeer) agreed() string {
	p.Helper()
	model, reply := p.ask("UIMAgree", p.agreement())
	if model != "UIMAgreed" || reply.Text("pat") == "" {
		p.Fatalf("got %s %v", model, reply)
	}
	return reply.Text("pat")
}

func search(token string) string {
	return fmt.Sprintf(`{"intent_uid": %q, "parameters": {"query": "lamp"}, "pat": %q, "idempotency_key": null}`, gatetest.Searching, token)
}

func TestInvalidEnvelopes(t *testing.T) {
	t.Parallel()
	p := opened(t)
	good := p.unsigned("UIMPolicyRequest", "{}")
	signed := p.text(good.Sign(p.key))
	with := func(change func(*envelope.Envelope)) string {
		e := good
		change(&e)
		return p.text(e.Sign(p.key))
	}
	replaced := func(member, value string) string {
		var members map[string]any
		p.Must(json.Unmarshal([]byte(signed), &members))
		members[member] = value
		raw, err := json.Marshal(members)
		p.Must(err)
		return string(raw)
	}
	user := identity.NewUser([32]byte{1})
	for name, c := range map[string]struct {
		method, body string
		header       []string
		status       int
		text         string // of the member error
	}{
		"another method":                 {method: http.MethodPut, body: signed, status: 405, text: "method not allowed"},
		"no content type, no browser":    {body: signed, header: []string{"Content-Type", "", "User-Agent", " "}, status: 400, text: "missing header: content-type"},
		"another content type":           {body: signed, header: []string{"Content-Type", "text/plain"}, status: 400, text: "invalid content-type"},
		"content type in upper case":     {body: signed, header: []string{"Content-Type", "APPLICATION/JSON"}, status: 400, text: "invalid content-type"},
		"GET with a content type":        {method: http.MethodGet, status: 400, text: "empty or invalid payload"},
		"empty":                          {status: 400, text: "empty or invalid payload"},
		"not JSON":                       {body: "{", status: 400, text: "empty or invalid payload"},
		"not UTF-8":                      {body: "{\"a\": \"\xff\"}", status: 400, text: "empty or invalid payload"},
		"null":                           {body: "null", status: 400, text: "contents do not match envelope schema"},
		"a list":                         {body: "[]", status: 400, text: "contents do not match envelope schema"},
		"no session":                     {body: replaced("session", ""), status: 400, text: "contents do not match envelope schema"},
		"a sender that is not bech32":    {body: replaced("sender", "agent1x"), status: 400, text: "Unable to decode value"},
		"a signature that is not bech32": {body: replaced("signature", "sig1x"), status: 400, text: "Unable to decode value"},
		"an address as signature":        {body: replaced("signature", string(p.shop)), status: 400, text: "Unable to decode signature"},
		"a signature as sender":          {body: replaced("sender", good.Sign(p.key).Signature.String()), status: 400, text: "Unable to decode agent address"},
		"not signed":                     {body: p.text(good), status: 400, text: "Envelope signature is missing"},
		"sender is a user":               {body: p.text(func() envelope.Envelope { e := good; e.Sender = user; return e }()), status: 400, text: "unverified senders are not served"},
		"signed by another":              {body: replaced("sender", string(p.shop)), status: 400, text: "Signature verification failed"},
		"changed":                        {body: replaced("payload", envelope.Pack([]byte(`{"a":1}`))), status: 400, text: "Signature verification failed"},
		"for another agent":              {body: with(func(e *envelope.Envelope) { e.Target = p.key.Address() }), status: 400, text: "unable to route envelope"},
		"target is not an agent":         {body: replaced("target", "agent1x"), status: 400, text: "unable to route envelope"},
		"asynchronous":                   {body: signed, header: []string{"X-Uagents-Connection", ""}, status: 400, text: "asynchronous envelopes are not answered here"},
		"synchronous in upper case":      {body: signed, header: []string{"X-Uagents-Connection", "SYNC"}, status: 400, text: "asynchronous envelopes are not answered here"},
		"no message":                     {body: with(func(e *envelope.Envelope) { e.Payload = "" }), status: 400, text: "unable to decode payload"},
		"too large":                      {body: strings.Repeat(" ", 2<<20) + signed, status: 413, text: "empty or invalid payload"},
		"a nonce in place of the time":   {body: strings.Replace(strings.Replace(signed, `"nonce":null`, `"nonce":1`, 1), `"expires"`, `"x"`, 1), status: 400, text: "contents do not match envelope schema"},
	} {
		if c.method == "" {
			c.method = http.MethodPost
		}
		a := p.submit(c.method, c.body, c.header...)
		var reply struct{ Error, Detail string }
		if err := json.Unmarshal(a.Body, &reply); err != nil || a.Status != c.status || reply.Error != c.text {
			t.Errorf("%s: %d %s (%v), want %d %s", name, a.Status, a.Body, err, c.status, c.text)
		}
		if a.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: no CORS", name)
		}
	}
	if model, _ := p.opens(p.submit(http.MethodPost, signed)); model != "UIMPolicy" { // all of the above differ from this in one thing
		t.Errorf("got %q, want %q", model, "UIMPolicy")
	}
}

func TestStatusRequests(t *testing.T) {
	t.Parallel()
	p := opened(t)
	for name, c := range map[string]struct {
		method, address, status string
		code                    int
	}{
		"without an address":      {http.MethodHead, "", "indeterminate", 200},
		"sender is the shop":      {http.MethodHead, string(p.shop), "ready", 200},
		"sender is another agent": {http.MethodHead, string(p.key.Address()), "not-ready", 200},
		"OPTIONS":                 {http.MethodOptions, "", "", 204},
	} {
		a := p.submit(c.method, "", "X-Uagents-Address", c.address)
		if a.Status != c.code || a.Header.Get("X-Uagents-Status") != c.status || len(a.Body) != 0 ||
			(a.Header.Get("X-Uagents-Response-Time-Hint") == "5") != (c.status == "ready") ||
			a.Header.Get("Access-Control-Allow-Methods") != "GET, POST, OPTIONS" {
			t.Errorf("%s: %d %v %s", name, a.Status, a.Header, a.Body)
		}
	}
	if a := p.submit(http.MethodGet, "", "Content-Type", ""); a.Status != 200 || string(a.Body) != `{"status": "OK - Agent is running"}` {
		t.Errorf("got %d %s", a.Status, a.Body)
	}
}

func TestServiceDescription(t *testing.T) {
	t.Parallel()
	p := opened(t)
	get := func(path, address string) gatetest.Answer {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+path, http.NoBody)
		p.Must(err)
		r.Header.Set("X-Uagents-Address", address)
		return p.Send(r)
	}
	for _, address := range []string{"", string(p.shop)} {
		var reply struct {
			Address   string
			Endpoints []struct {
				URL    string
				Weight int
			}
			Protocols []string
			Type      string `json:"agent_type"`
			Prefix    string
			Port      int
			Metadata  map[string]any
		}
		a := get("/agent_info", address)
		u := p.Addresses("uagents")["url"]
		if err := json.Unmarshal(a.Body, &reply); err != nil || a.Status != 200 || reply.Address != string(p.shop) || reply.Type != "custom" ||
			len(reply.Endpoints) != 1 || reply.Endpoints[0].URL != u || reply.Endpoints[0].Weight != 1 || reply.Prefix != "agent" ||
			!strings.HasPrefix(u, fmt.Sprintf("http://127.0.0.1:%d/", reply.Port)) || reply.Metadata == nil || len(reply.Protocols) != 4 ||
			a.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%v: %d %s", err, a.Status, a.Body)
		}
	}
	if a := get("/agent_info", string(p.key.Address())); a.Status != http.StatusNotFound {
		t.Errorf("got %d %s; want %v", a.Status, a.Body, http.StatusNotFound)
	}
	var all []json.RawMessage
	if err := json.Unmarshal(get("/uagents/manifest", "").Body, &all); err != nil || len(all) != 4 {
		t.Errorf("%v: %d manifests", err, len(all))
	}
	for _, one := range all {
		m, err := protocol.ParseManifest(one) // which computes every digest again
		if err != nil {
			t.Fatal(err)
		}
		if a := get("/uagents/manifest?digest="+string(m.Digest), ""); a.Status != 200 || !bytes.Equal(a.Body, one) {
			t.Errorf("%d %s, want %s", a.Status, a.Body, one)
		}
	}
	if a := get("/uagents/manifest?digest=proto:x", ""); a.Status != http.StatusNotFound {
		t.Errorf("got %d %s; want %v", a.Status, a.Body, http.StatusNotFound)
	}
	for _, path := range []string{"/agent_info", "/uagents/manifest"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL+path, strings.NewReader("{}"))
		p.Must(err)
		if a := p.Send(r); a.Status != http.StatusMethodNotAllowed {
			t.Errorf("got %d %s; want %v", a.Status, a.Body, http.StatusMethodNotAllowed)
		}
		shut := gatetest.New(t, "")
		shut.Refuses(shut.Get(path), http.StatusNotFound, "NO_SUCH_PATH")
	}
}

// Two agents that reply to errors with errors would never stop.
func TestErrorsAndAcknowledgementsGetNoReply(t *testing.T) {
	t.Parallel()
	p := opened(t)
	for _, model := range []string{"ErrorMessage", "ChatAcknowledgement"} {
		for _, connection := range []string{"sync", ""} {
			a := p.submit(http.MethodPost, p.text(p.unsigned(model, `{"error": "x"}`).Sign(p.key)), "X-Uagents-Connection", connection)
			if a.Status != http.StatusOK || string(a.Body) != "{}" {
				t.Errorf("%s: %d %s", model, a.Status, a.Body)
			}
		}
	}
}

func TestDoorIsClosedWithoutBlock(t *testing.T) {
	t.Parallel()
	shut := gatetest.New(t, "")
	shut.Refuses(shut.Call("/submit", "", map[string]any{}), http.StatusNotFound, "NO_SUCH_PATH")
	if a := shut.Get("/agents.json"); bytes.Contains(a.Body, []byte("uim-uagents")) {
		t.Errorf("got %s", a.Body)
	}
	p := opened(t)
	if a := p.Get("/agents.json"); !bytes.Contains(a.Body, []byte(`"uim-uagents": "`+string(p.shop)+`"`)) {
		t.Errorf("got %s", a.Body)
	}
	// A generated identity stays the same.
	made := gatetest.New(t, strings.Replace(uagentsSettings, "{key_file: seed.txt}", "{path: /agent}", 1))
	address := made.Addresses("uagents")["address"]
	made.Reload()
	if now := made.Addresses("uagents")["address"]; now != address ||
		!strings.HasPrefix(now, "agent1") || now == string(p.shop) {
		t.Errorf("%s, then %s", address, now)
	}
	if a := made.Get("/agent", "User-Agent", "a browser"); a.Status != http.StatusOK {
		t.Errorf("got %d %s; want %v", a.Status, a.Body, http.StatusOK)
	}
}
