package bindings_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/uimgate/uimgate/bindings/aea"
	"github.com/uimgate/uimgate/bindings/mrp"
	"github.com/uimgate/uimgate/bindings/uagents"
	"github.com/uimgate/uimgate/bindings/uagents/almanac"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/internal/strictjson"
	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	aeaidentity "github.com/uimgate/uimgate/internal/wire/aea/identity"
	aeaprotocol "github.com/uimgate/uimgate/internal/wire/aea/protocol"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
)

// Secrets that occur only in this test.
const (
	shopSeed    = "the seed of the shop that nobody may read"
	shopKey     = "7a1fd7c0de00b1e5c0ffee5ca1ab1e0ddba11feedfacecafebeefdeadbea7ed1"
	shopRelayed = "5ca1ab1e0ddba11feedfacecafebeefdeadbea7ed17a1fd7c0de00b1e5c0ffee"
	parameter   = "canary-parameter-7f3a"
)

// secrets maps descriptions to values that operators must not see.
type secrets map[string]string

// in returns the descriptions of the secrets that a text contains, plain, in base64 or in hexadecimal digits.
func (s secrets) in(text string) (found []string) {
	for name, secret := range s {
		for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret)), hex.EncodeToString([]byte(secret))} {
			if strings.Contains(text, form) {
				found = append(found, name)
				break
			}
		}
	}
	return found
}

// TestSecretsAreNotReported makes agents of all networks agree, call, renew and be refused, in every way that involves a secret. No log
// line at any level, no status of a door and no metric may contain a secret.
func TestSecretsAreNotReported(t *testing.T) {
	t.Parallel()
	absent := httptest.NewServer(http.NotFoundHandler()) // accepts no replies
	t.Cleanup(absent.Close)
	sender, err := identity.FromSeed(seed, 0)
	if err != nil {
		t.Fatal(err)
	}
	g := gatetest.New(t, gatetest.RelaySettings+"services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, "+gatetest.Unproved+
		", doors: {uagents: {key_file: seed.txt, registry: true, rules: {"+string(sender.Address())+": '"+absent.URL+"'}}, "+
		"aea: {key_file: key.txt, tcp: '127.0.0.1:0', delegate: '127.0.0.1:0', mailbox: '127.0.0.1:0'}, mrp: {key_file: relayed.txt}}}\n",
		func(g *gatetest.Gate) {
			g.Write("seed.txt", shopSeed+"\n")
			g.Write("key.txt", shopKey+"\n")
			g.Write("relayed.txt", shopRelayed+"\n")
		})
	s := secrets{
		"the seed of the shop": shopSeed, "the key of the shop": shopKey, "the key of the shop at relays": shopRelayed,
		"the seed of the agent": seed, "a parameter": parameter,
	}
	inUAgents(g, sender, s)
	inAEA(g, s)
	inMRP(g, s)
	statuses, err := json.Marshal(door.Statuses(g.Modules, g.Directory.Current().Service("default")))
	g.Must(err)
	metrics := httptest.NewRecorder()
	promhttp.HandlerFor(g.Metrics.Registry(), promhttp.HandlerOpts{}).ServeHTTP(metrics, httptest.NewRequest(http.MethodGet, "/", nil))
	g.Drain()
	for what, text := range map[string]string{"the status": string(statuses), "the metrics": metrics.Body.String()} {
		if found := s.in(text); found != nil {
			t.Errorf("%s: %v, want nil", what, found)
		}
	}
	lines := map[string]int{}
	for _, line := range g.Logs.All() {
		fields, err := json.Marshal(line.ContextMap())
		g.Must(err)
		if found := s.in(line.Message + " " + string(fields)); found != nil {
			t.Errorf("the log: %v in %s %s; want nil", found, line.Message, fields)
		}
		name, _ := line.ContextMap()["door"].(string)
		lines[name]++
	}
	if lines[uagents.Name] < 5 || lines[aea.Name] < 5 || lines[mrp.Name] < 5 {
		t.Errorf("the log does not mention the doors: %v", lines)
	}
	if len(s) < 20 {
		t.Errorf("%d secrets", len(s))
	}
}

// calling returns a call with the secret parameter.
func calling(token string) string {
	return fmt.Sprintf(`{"intent_uid": %q, "parameters": {"query": %q}, "pat": %q}`, gatetest.Searching, parameter, token)
}

// inUAgents sends valid and invalid messages as a uAgent, and adds their secrets to s.
func inUAgents(g *gatetest.Gate, key identity.Key, s secrets) {
	g.Helper()
	current := g.Directory.Current().Service("default")
	n := 0
	send := func(mode, model, message string, change func(*envelope.Envelope)) (reply strictjson.Object) {
		g.Helper()
		n++
		until := uint64(g.Now().Add(time.Minute).Unix())
		e := envelope.Envelope{
			Target: identity.Address(g.Addresses("uagents")["address"]), Session: envelope.NewSession(),
			SchemaDigest: protocol.Standard(model).Digest, Payload: envelope.Pack([]byte(message)), Expires: &until,
		}.Sign(key)
		change(&e)
		s[fmt.Sprintf("signature %d of an envelope", n)] = e.Signature.String()
		raw, err := json.Marshal(e)
		g.Must(err)
		r, err := http.NewRequestWithContext(g.Context(), http.MethodPost, g.URL+"/submit", bytes.NewReader(raw))
		g.Must(err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Uagents-Connection", mode)
		answer, err := envelope.Parse(g.Send(r).Body)
		if err != nil {
			return nil
		}
		text, err := answer.Message()
		g.Must(err)
		reply, err = strictjson.DecodeObject(text)
		g.Must(err)
		return reply
	}
	asIs := func(*envelope.Envelope) {}
	agreement := fmt.Sprintf(`{"policy_digest": %q, "issuer": %q, "scope": null}`, current.Offer().Digest, current.Issuer)
	token := send("sync", "UIMAgree", agreement, asIs).Text("pat")
	if token == "" {
		g.Fatal("no PAT")
	}
	s["a PAT of uAgents"] = token
	s["a renewed PAT of uAgents"] = send("sync", "UIMRenew", fmt.Sprintf(`{"pat": %q}`, token), asIs).Text("pat")
	for _, mode := range []string{"sync", ""} { // "": asynchronous, and the reply cannot be delivered
		for _, message := range []string{
			calling(token), calling(token + "x"), strings.Replace(calling(token), `"query"`, `"quest"`, 1), calling(token)[1:],
			strings.Replace(calling(token), gatetest.Searching, parameter, 1), strings.Replace(calling(token), `"pat"`, `"token"`, 1),
		} {
			send(mode, "UIMExecute", message, asIs)
		}
		send(mode, "UIMExecute", calling(token), func(e *envelope.Envelope) { e.Payload += "AAAA" })
		send(mode, "UIMExecute", calling(token), func(e *envelope.Envelope) { e.Target = e.Sender })
		send(mode, "UIMAgree", strings.Replace(agreement, "null", `["`+parameter+`"]`, 1), asIs)
		send(mode, "UIMRenew", fmt.Sprintf(`{"pat": %q}`, token+"x"), asIs)
		send(mode, "ChatMessage", calling(token), asIs)
	}
	for _, path := range []string{"agents", "agents/batch", "search", "manifests"} { // in the Almanac
		g.Call(almanac.Path+"/"+path, "", map[string]string{"agent_identifier": parameter, "signature": shopSeed, "text": token})
	}
}

// inAEA sends valid and invalid messages as AEA agents over each connection, and adds their secrets to s.
func inAEA(g *gatetest.Gate, s secrets) {
	g.Helper()
	var at map[string]string
	for _, status := range door.Statuses(g.Modules, g.Directory.Current().Service("default")) {
		if status.Door == aea.Name {
			at = status.Addresses
		}
	}
	for i, name := range []string{"tcp", "delegate", "mailbox"} {
		key := aeatest.Key(g.T, strings.Repeat(fmt.Sprintf("%02x", 0xa1+i), 32))
		s["the key of an agent by "+name] = strings.Repeat(fmt.Sprintf("%02x", 0xa1+i), 32)
		var way aeatest.Way
		switch record := aeatest.Record(at["node_key"], key, aeaidentity.Fetchai); name {
		case "tcp":
			way = aeatest.TCP(g.T, at[name], record.Address)
		case "delegate":
			way = aeatest.Delegate(g.T, at[name], at["node_key"], key, aeaidentity.Fetchai)
			s["what an agent signs to register by "+name] = record.Signature
		default:
			way = aeatest.Mailbox(g.T, at[name], at["node_key"], key, aeaidentity.Fetchai)
			s["what an agent signs to register by "+name] = record.Signature
		}
		a := aeatest.NewAgent(way, at["address"], key, aeaidentity.Fetchai)
		negotiate := func(change func(map[string]string)) aeaprotocol.FIPAMessage {
			turn, offer := a.Asks(g.T, gatetest.Searching)
			info := a.Info(offer)
			change(info)
			s[fmt.Sprintf("what an agent signs by %s: %d", name, len(s))] = info["signature"]
			a.Reply(g.T, turn, aeaprotocol.FIPAMessage{Performative: aeaprotocol.FIPAAcceptWInform, Info: info})
			m, _ := a.Next(g.T).Content.(aeaprotocol.FIPAMessage)
			return m
		}
		token := negotiate(func(map[string]string) {}).Info["pat"]
		if token == "" {
			g.Fatal("no PAT")
		}
		s["a PAT by "+name] = token
		for member, value := range map[string]string{
			"signature": "x" + token, "public_key": parameter, "policy_sha256": token, "ledger_id": parameter,
		} {
			negotiate(func(info map[string]string) { info[member] = value })
			a.Refusal(g.T)
		}
		for _, text := range []string{
			calling(token), calling(token + "x"), strings.Replace(calling(token), `"query"`, `"quest"`, 1),
			strings.Replace(calling(token), gatetest.Searching, parameter, 1),
		} {
			a.Calls(g.T, text)
		}
		for _, header := range []string{"Bearer " + token, "Bearer x" + token, parameter} {
			for _, path := range []string{"/api/intents/execute", "/api/pat/renew", "/api/pat/issue", "/" + parameter, "/api/pat/revoke"} {
				a.Requests(g.T, aeaprotocol.HTTPMessage{
					Method: http.MethodPost, URL: path, Body: []byte(calling(token)),
					Header: http.Header{"Authorization": {header}, "Content-Type": {"application/json"}},
				})
			}
		}
		a.Start(g.T, &aeaprotocol.Default, aeatest.Text(calling(token)[1:]))
		a.Next(g.T)
	}
}
