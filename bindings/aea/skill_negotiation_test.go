package aea_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/internal/wire/aea/dialogue"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
	"github.com/uimgate/uimgate/internal/wire/aea/search"
	"github.com/uimgate/uimgate/pat"
)

func TestOfferAndAcceptance(t *testing.T) {
	t.Parallel()
	for _, ledger := range []identity.Ledger{identity.Fetchai, identity.Cosmos, identity.Ethereum} {
		s := opened(t, "")
		a := s.agent(ledger)
		turn, offer := a.Asks(t, gatetest.Ordering)
		policy := s.Directory.Current().Service("default").Offer()
		want := map[string]search.Value{
			"service_id": search.Text(gatetest.Ordering), "quantity": search.Int(1), "price": search.Int(25), "currency_id": search.Text("EUR"),
			"ledger_id": search.Text(ledger), "policy_url": search.Text(s.Directory.Current().Service("default").At("/api/policy")),
			"policy_sha256": search.Text(policy.SHA256()), "policy_uid": search.Text(policy.UID), "scope": search.Text(gatetest.Ordering + ":execute"),
			"rate_limit": search.Int(10000), "rate_period": search.Int(3600), "iss": search.Text("shop.example"),
			"valid_until": search.Int(s.Now().Add(10 * time.Minute).Unix()),
			"execute_url": search.Text(s.Directory.Current().Service("default").At("/api/intents/execute")),
		}
		for name, v := range want {
			if got := offer.Value(name); got != v {
				t.Errorf("%s: %v, want %v", name, got, v)
			}
		}
		if nonce := aeatest.TextOf(offer, "tx_nonce"); len(nonce) != 64 || len(offer.Values) != len(want)+1 || offer.Model.Name != "uim_offer" {
			t.Errorf("got %+v", offer)
		}
		a.Reply(t, turn, accept(a.Info(offer)))
		turn, m := a.FIPA(t, protocol.FIPAMatchAcceptWInform)
		claims, err := s.Directory.Current().Service("default").Verifier.Verify(t.Context(), m.Info["pat"], s.Now())
		if err != nil || claims.Subject != pat.AgentID(a.Address()) || claims.Assurance != pat.Fresh || m.Info["jti"] != string(claims.ID) ||
			m.Info["expires_at"] != fmt.Sprint(claims.ExpiresAt.Unix()) || len(claims.Scope) != 1 || claims.Scope[0] != gatetest.Ordering+":execute" {
			t.Errorf("got %+v %v %v", claims, m.Info, err)
		}
		agreement, err := s.Store.Agreement(t.Context(), "default", claims.Agreement)
		if err != nil || agreement.Form != "aea-1" {
			t.Errorf("got %+v, %v; want no error and Form %q", agreement, err, "aea-1")
		}
		a.Reply(t, turn, says(protocol.FIPAEnd, nil))
		answer := a.Calls(t, fmt.Sprintf(`{"intent_uid": %q, "parameters": {"product": "lamp"}, "pat": %q}`, gatetest.Ordering, m.Info["pat"]))
		if answer != `{"ok":true}` {
			t.Errorf("a paid call: %s, want %q", answer, `{"ok":true}`)
		}
	}
}

func TestUnsignedAcceptance(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	a := s.agent(identity.Fetchai)
	turn, offer := a.Asks(t, gatetest.Searching)
	a.Reply(t, turn, says(protocol.FIPAAccept, nil))
	turn, m := a.FIPA(t, protocol.FIPAMatchAcceptWInform)
	if m.Info["pat"] != "" || m.Info["tx_nonce"] != aeatest.TextOf(offer, "tx_nonce") || m.Info["policy_sha256"] == "" {
		t.Fatal(m.Info)
	}
	a.Reply(t, turn, says(protocol.FIPAInform, map[string]string{
		"public_key": a.Key.Public(identity.Fetchai).String(), "signature": a.Key.Sign(identity.Fetchai, []byte(m.Info["sign"])),
		"policy_sha256": m.Info["policy_sha256"], "tx_nonce": m.Info["tx_nonce"],
	}))
	turn, m = a.FIPA(t, protocol.FIPAInform)
	if answer := a.Calls(t, searchCall(m.Info["pat"])); answer != `{"ok":true}` {
		t.Errorf("got %q, want %q", answer, `{"ok":true}`)
	}
	s.Later(time.Minute)
	a.Reply(t, turn, says(protocol.FIPAInform, map[string]string{"renew": m.Info["pat"]}))
	turn, renewed := a.FIPA(t, protocol.FIPAInform)
	if renewed.Info["pat"] == "" || renewed.Info["jti"] == m.Info["jti"] || renewed.Info["agreement_id"] != m.Info["agreement_id"] {
		t.Errorf("got %v", renewed.Info)
	}
	if answer := a.Calls(t, searchCall(renewed.Info["pat"])); answer != `{"ok":true}` {
		t.Errorf("got %q, want %q", answer, `{"ok":true}`)
	}
	stolen := s.Agreed("agent-2").Token
	a.Reply(t, turn, says(protocol.FIPAInform, map[string]string{"renew": stolen}))
	a.FIPA(t, protocol.FIPAEnd)
	if _, uim := a.Refusal(t); refusal(uim) != "INVALID_TOKEN" {
		t.Error(uim)
	}
}

// A message contains no proof of key, so a PAT that charges cannot be renewed: the agent must negotiate a new PAT.
func TestChargingPATIsNotRenewed(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	a := s.agent(identity.Fetchai)
	agrees := func() (dialogue.Turn, map[string]string) {
		turn, offer := a.Asks(t, gatetest.Ordering)
		a.Reply(t, turn, accept(a.Info(offer)))
		turn, m := a.FIPA(t, protocol.FIPAMatchAcceptWInform)
		return turn, m.Info
	}
	turn, first := agrees()
	s.Later(time.Minute)
	a.Reply(t, turn, says(protocol.FIPAInform, map[string]string{"renew": first["pat"]}))
	a.FIPA(t, protocol.FIPAEnd)
	if _, uim := a.Refusal(t); refusal(uim) != "POLICY_REQUIRES_VERIFICATION" {
		t.Error(uim)
	}
	_, next := agrees()
	if next["pat"] == "" || next["jti"] == first["jti"] {
		t.Errorf("got %v", next)
	}
}

func TestCounterOffers(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	a := s.agent(identity.Fetchai)
	describe := func(values ...search.KeyValue) protocol.FIPAMessage {
		return protocol.FIPAMessage{Performative: protocol.FIPAPropose, Proposal: search.Describe("uim_offer", values...)}
	}
	cheaper := describe(search.KeyValue{Key: "price", Value: search.Int(24)})
	turn, first := a.Asks(t, gatetest.Ordering)
	nonces := map[string]bool{aeatest.TextOf(first, "tx_nonce"): true}
	for name, counter := range map[string]protocol.FIPAMessage{
		"cheaper": cheaper, "more": describe(search.KeyValue{Key: "quantity", Value: search.Int(2)}),
		"another currency": describe(search.KeyValue{Key: "currency_id", Value: search.Text("USD")}),
		"more terms":       describe(search.KeyValue{Key: "gift", Value: search.Bool(true)}), "nothing": describe(),
	} {
		a.Reply(t, turn, counter)
		var m protocol.FIPAMessage
		turn, m = a.FIPA(t, protocol.FIPAPropose)
		nonce := aeatest.TextOf(m.Proposal, "tx_nonce")
		if m.Proposal.Value("price") != search.Int(25) || nonces[nonce] {
			t.Errorf("%s: %v", name, m.Proposal.Values)
		}
		nonces[nonce] = true
	}
	a.Reply(t, turn, cheaper) // the sixth
	a.FIPA(t, protocol.FIPADecline)
	if _, uim := a.Refusal(t); refusal(uim) != "POLICY_VIOLATION" {
		t.Error(uim)
	}

	for _, by := range []protocol.Performative{protocol.FIPAMatchAcceptWInform, protocol.FIPAMatchAccept} {
		turn, offer := a.Asks(t, gatetest.Ordering)
		a.Reply(t, turn, describe(search.KeyValue{Key: "price", Value: search.Int(30)}, search.KeyValue{Key: "quantity", Value: search.Int(1)}))
		turn, _ = a.FIPA(t, protocol.FIPAAccept)
		info := a.Info(offer)
		if by == protocol.FIPAMatchAccept {
			a.Reply(t, turn, says(by, nil))
			turn, _ = a.FIPA(t, protocol.FIPAInform)
			by = protocol.FIPAInform
		}
		a.Reply(t, turn, says(by, info))
		if _, m := a.FIPA(t, protocol.FIPAInform); m.Info["pat"] == "" {
			t.Errorf("%s: %v", by, m.Info)
		}
	}
}

func TestRefusedAcceptances(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	a, other := s.agent(identity.Fetchai), s.other(1)
	_, foreign := other.Asks(t, gatetest.Searching)
	for name, c := range map[string]struct {
		change func(info map[string]string, offer search.Description) map[string]string
		want   string
	}{
		"an empty signature": {func(map[string]string, search.Description) map[string]string { return nil }, "UNSUPPORTED_KEY"},
		"signature of another agent": {func(info map[string]string, offer search.Description) map[string]string {
			info["signature"] = other.Info(offer)["signature"]
			return info
		}, "BAD_SIGNATURE"},
		"key of another agent":   {func(_ map[string]string, offer search.Description) map[string]string { return other.Info(offer) }, "BAD_SIGNATURE"},
		"offer to another agent": {func(map[string]string, search.Description) map[string]string { return a.Info(foreign) }, "AGREEMENT_STALE"},
		"another policy": {func(_ map[string]string, offer search.Description) map[string]string {
			return a.Signed(strings.Repeat("a", 64), aeatest.TextOf(offer, "tx_nonce"))
		}, "POLICY_MISMATCH"},
		"another ledger": {func(info map[string]string, _ search.Description) map[string]string {
			info["ledger_id"] = "x"
			return info
		}, "UNSUPPORTED_KEY"},
	} {
		turn, offer := a.Asks(t, gatetest.Searching)
		a.Reply(t, turn, accept(c.change(a.Info(offer), offer)))
		a.FIPA(t, protocol.FIPADecline)
		if text, uim := a.Refusal(t); refusal(uim) != c.want || strings.Contains(text+uim, aeatest.TextOf(offer, "tx_nonce")) {
			t.Errorf("%s: %s %s", name, text, uim)
		}
		if turn.Dialogue.Label().StarterRef == "" {
			t.Error("the dialogue has no reference")
		}
		s.Pass(20 * time.Second) // the limit of errors refills
	}
	turn, offer := a.Asks(t, gatetest.Searching)
	s.Later(10 * time.Minute)
	a.Reply(t, turn, accept(a.Info(offer)))
	a.FIPA(t, protocol.FIPADecline)
	if _, uim := a.Refusal(t); refusal(uim) != "AGREEMENT_STALE" {
		t.Errorf("too late: %s", uim)
	}
}

// An agreement leads to one PAT, even if it is sent again in another dialogue or form.
func TestOfferIsUsedOnce(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	a := s.agent(identity.Fetchai)
	turn, offer := a.Asks(t, gatetest.Searching)
	a.Reply(t, turn, accept(a.Info(offer)))
	turn, _ = a.FIPA(t, protocol.FIPAMatchAcceptWInform)
	a.Reply(t, turn, says(protocol.FIPAInform, a.Info(offer)))
	a.FIPA(t, protocol.FIPAEnd)
	if _, uim := a.Refusal(t); refusal(uim) != "AGREEMENT_REPLAYED" {
		t.Error(uim)
	}
	turn, _ = a.Asks(t, gatetest.Searching)
	a.Reply(t, turn, accept(a.Info(offer)))
	a.FIPA(t, protocol.FIPADecline)
	if _, uim := a.Refusal(t); refusal(uim) != "AGREEMENT_STALE" {
		t.Error(uim)
	}
}

func TestPendingApproval(t *testing.T) {
	t.Parallel()
	s := opened(t, "pat: {admission: approval}\nservices:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}}\n")
	a := s.agent(identity.Fetchai)
	turn, offer := a.Asks(t, gatetest.Searching)
	a.Reply(t, turn, accept(a.Info(offer)))
	turn, m := a.FIPA(t, protocol.FIPAMatchAcceptWInform)
	if m.Info["status"] != "pending" || m.Info["pat"] != "" || m.Info["agreement_id"] == "" {
		t.Fatal(m.Info)
	}
	s.Must(s.Directory.Current().Service("default").Issuance.Approve(t.Context(), pat.AgentID(a.Address())))
	a.Reply(t, turn, says(protocol.FIPAInform, a.Info(offer)))
	if _, m := a.FIPA(t, protocol.FIPAInform); m.Info["pat"] == "" {
		t.Error(m.Info)
	}
}
