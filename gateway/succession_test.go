package gateway_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// A succession is a gateway whose policy charges 0.25 EUR for an order until a date, and 0.50 EUR from then on. Searches stay free.
type succession struct {
	*gatetest.Gate

	from   time.Time
	second pat.Offer
}

func newSuccession(t *testing.T) *succession {
	t.Helper()
	dearer := strings.Replace(gatetest.PolicyFile, `"0.25"`, `"0.50"`, 1)
	second, err := pat.NewOffer([]byte(dearer), "https://shop.example/policy/1")
	if err != nil {
		t.Fatal(err)
	}
	from := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	return &succession{gatetest.New(t, "services:\n- {agents_file: agents.json, upstream: {url: UPSTREAM}, "+gatetest.Unproved+
		", policies: [{file: policy.json}, {file: dearer.json, from: 2026-12-01T00:00Z}]}\n", func(g *gatetest.Gate) {
		g.Write("dearer.json", dearer)
	}), from, second}
}

// agreed returns an agent that has agreed to a policy, and the response of the gateway. effective may be empty.
func (s *succession) agreed(id string, to pat.Offer, effective string) (*gatetest.Agent, gatetest.Answer) {
	s.Helper()
	a := s.Unapproved(id)
	return a, s.agree(a, to, effective)
}

func (s *succession) agree(a *gatetest.Agent, to pat.Offer, effective string) gatetest.Answer {
	s.Helper()
	service := s.Directory.Current().Service("default")
	signed, err := pat.SignAgreement(a.Key, pat.AgreementClaims{
		AgentID: a.ID, Audience: service.Issuer, URL: service.At("/api/pat/issue"), IssuedAt: s.Now(), Nonce: rand.Text(),
		PolicyUID: to.UID, PolicyDigest: to.Digest,
	})
	s.Must(err)
	body := map[string]any{"agent_id": a.ID, "agent_public_key": a.PublicKey, "signed_policy": signed}
	if effective != "" {
		body["effective"] = effective
	}
	answer := s.Call("/api/pat/issue", "", body)
	var issued struct {
		PAT string `json:"uim-pat"`
	}
	_ = json.Unmarshal(answer.Body, &issued)
	a.Token = issued.PAT
	return answer
}

// renewal requests the successor of an agent's PAT.
func (s *succession) renewal(a *gatetest.Agent) gatetest.Answer {
	s.Helper()
	jti := s.TokenID(a)
	digest, err := pat.RenewDigest(jti)
	s.Must(err)
	proof, err := keys.SignJWS(a.Key, map[string]any{"typ": pat.TypeProof, "kid": a.KeyID}, map[string]any{
		"iat": s.Now().Unix(), "jti": rand.Text(), "aud": "shop.example", "pat": jti, "digest": digest,
	})
	s.Must(err)
	return s.Call("/api/pat/renew", a.Token, map[string]any{"proof": proof})
}

// renewed returns the successor of an agent's PAT.
func (s *succession) renewed(a *gatetest.Agent) string {
	s.Helper()
	answer := s.renewal(a)
	var issued struct {
		PAT string `json:"uim-pat"`
	}
	s.Must(json.Unmarshal(answer.Body, &issued))
	if issued.PAT == "" {
		s.Fatalf("%s renews: %s", a.ID, answer.Body)
	}
	return issued.PAT
}

// order makes an order, and returns the charge of the call or, if it was refused, the status and the reason.
func (s *succession) order(a *gatetest.Agent) string {
	s.Helper()
	return outcomeOf(s.Call("/api/intents/execute", a.Token, map[string]any{
		"intent_uid": gatetest.Ordering, "parameters": map[string]any{"product": "lamp"},
	}))
}

// search is like order, for a search.
func (s *succession) search(a *gatetest.Agent) string {
	s.Helper()
	return outcomeOf(s.Call("/api/intents/execute", a.Token, map[string]any{
		"intent_uid": gatetest.Searching, "parameters": map[string]any{"query": "lamp"},
	}))
}

func outcomeOf(answer gatetest.Answer) string {
	if answer.Status == http.StatusOK {
		charge, _, _ := strings.Cut(answer.Header.Get("UIM-Charge"), ";")
		return charge
	}
	return fmt.Sprint(answer.Status, " ", answer.Reason())
}

func TestPolicySucceedsAnother(t *testing.T) {
	s := newSuccession(t)
	first := s.Directory.Current().Service("default").Offer()
	old, _ := s.agreed("old", first, "")
	eager, _ := s.agreed("eager", s.second, "now")
	patient, issued := s.agreed("patient", s.second, "on_date")
	if !strings.Contains(string(issued.Body), `"not_before":"2026-12-01T00:00:00Z"`) {
		t.Errorf("the agreement that takes effect on the date: %s, want its PAT to be valid from 2026-12-01 on", issued.Body)
	}
	type outcomes struct{ Old, OldSearch, Eager, Patient string }
	now := func() outcomes { return outcomes{s.order(old), s.search(old), s.order(eager), s.order(patient)} }
	before := outcomes{"0.25 EUR", "", "0.50 EUR", "401 INVALID_TOKEN"}
	if got := now(); got != before {
		t.Errorf("before the date: %+v, want %+v", got, before)
	}
	s.Later(50 * time.Minute)
	for s.Now().Before(s.from.Add(-time.Minute)) {
		old.Token, eager.Token = s.renewed(old), s.renewed(eager)
		s.Later(min(50*time.Minute, s.from.Add(-time.Minute).Sub(s.Now())))
	}
	if got := now(); got != before {
		t.Errorf("a minute before the date: %+v, want %+v", got, before)
	}
	s.Later(time.Minute)
	after := outcomes{"403 POLICY_REQUIRES_AGREEMENT", "", "0.50 EUR", "0.50 EUR"}
	if got := now(); got != after {
		t.Errorf("on the date: %+v, want %+v", got, after)
	}
	old.Token, eager.Token = s.renewed(old), s.renewed(eager)
	if got := now(); got.OldSearch != "" || got.Eager != "0.50 EUR" || !strings.HasPrefix(got.Old, "403") {
		t.Errorf("after renewals on the date: %+v, want a free search, and %q for an order of the new agreement", got, "0.50 EUR")
	}
	if answer := s.agree(old, first, ""); answer.Reason() != "POLICY_MISMATCH" || !strings.Contains(string(answer.Body), s.second.Digest) {
		t.Errorf("an agreement to the policy that has ended: %s, want POLICY_MISMATCH with the digest of its successor", answer.Body)
	}
	s.agree(old, s.second, "on_date")
	if got := s.order(old); got != "0.50 EUR" {
		t.Errorf("an agreement to the new policy: %s, want %s", got, "0.50 EUR")
	}
}

// If the clock steps back over the date, the policy before it is in force again.
func TestClockStepsBackOverDateOfPolicy(t *testing.T) {
	s := newSuccession(t)
	s.Later(s.from.Add(-time.Minute).Sub(s.Now()))
	old, _ := s.agreed("old", s.Directory.Current().Service("default").Offer(), "")
	for _, want := range []string{"0.25 EUR", "403 POLICY_REQUIRES_AGREEMENT", "0.25 EUR", "403 POLICY_REQUIRES_AGREEMENT"} {
		if got := s.order(old); got != want {
			t.Errorf("at %s: %s, want %s", s.Now(), got, want)
		}
		if s.Now().Before(s.from) {
			s.Later(time.Minute)
		} else {
			s.Later(-time.Minute)
		}
	}
}

// An agent can agree to a policy before it takes effect in each form.
func TestAgreementToSuccessorInEachForm(t *testing.T) {
	s := newSuccession(t)
	a := s.Unapproved("static")
	detached := base64.StdEncoding.EncodeToString(ed25519.Sign(a.Key, s.second.Bytes))
	signed, err := keys.SignJWS(a.Key, map[string]any{}, json.RawMessage(s.second.Bytes))
	s.Must(err)
	for name, text := range map[string]string{"detached signature": detached, "JWS of the policy": signed} {
		t.Run(name, func(t *testing.T) {
			answer := s.Call("/api/pat/issue", "", map[string]any{"agent_id": a.ID, "agent_public_key": a.PublicKey, "signed_policy": text})
			var issued struct {
				PAT string `json:"uim-pat"`
			}
			_ = json.Unmarshal(answer.Body, &issued)
			state, err := s.Directory.Current().Service("default").Introspect(t.Context(), issued.PAT, s.Now())
			if err != nil || state.PolicyDigest != s.second.Digest {
				t.Errorf("%s, %v: an agreement to %q, want %q", answer.Body, err, state.PolicyDigest, s.second.Digest)
			}
		})
	}
}

func TestSuccessorIsAnnounced(t *testing.T) {
	s := newSuccession(t)
	first := s.Directory.Current().Service("default").Offer()
	old, _ := s.agreed("old", first, "")
	wantEnding := http.Header{
		"Deprecation": {"@1795262400"}, "Sunset": {"Tue, 01 Dec 2026 00:00:00 GMT"},
		"Link": {"<http://127.0.0.1:8080/api/policy?digest=" + url.QueryEscape(s.second.Digest) + `>; rel="successor-version"`},
	}
	ending := func(h http.Header) http.Header {
		out := http.Header{}
		for name := range wantEnding {
			if v := h.Values(name); len(v) > 0 {
				out[name] = v
			}
		}
		return out
	}
	for name, test := range map[string]struct {
		answer gatetest.Answer
		want   http.Header
	}{
		"policy in force": {s.Get("/api/policy"), wantEnding},
		"successor":       {s.Get("/api/policy?digest=" + url.QueryEscape(s.second.Digest)), http.Header{}},
		"intent whose price changes": {s.Call("/api/intents/execute", old.Token, map[string]any{
			"intent_uid": gatetest.Ordering, "parameters": map[string]any{"product": "lamp"},
		}), wantEnding},
		"intent whose terms stay": {s.Call("/api/intents/execute", old.Token, map[string]any{
			"intent_uid": gatetest.Searching, "parameters": map[string]any{"query": "lamp"},
		}), http.Header{}},
	} {
		if diff := cmp.Diff(test.want, ending(test.answer.Header)); diff != "" || test.answer.Status != http.StatusOK {
			t.Errorf("%s: status %d, headers differ (-want +got):\n%s", name, test.answer.Status, diff)
		}
	}
	if got := s.Get("/api/policy?digest=" + url.QueryEscape(s.second.Digest)); string(got.Body) != string(s.second.Bytes) {
		t.Errorf("the successor: %s, want %s", got.Body, s.second.Bytes)
	}
	if got := s.Get("/api/policy?digest=sha-256:canary"); got.Status != http.StatusNotFound {
		t.Errorf("an unknown policy: %d, want %d", got.Status, http.StatusNotFound)
	}
	announced := func() (out [2]string) {
		for i, path := range []string{"/agents.json", "/"} {
			var document struct {
				Next *struct {
					Digest, From string
					Changes      []struct{ Effect, Text string }
				} `json:"policy_successor"`
			}
			s.Must(json.Unmarshal(s.Get(path, "Accept", "application/json").Body, &document))
			if next := document.Next; next != nil {
				out[i] = fmt.Sprint(next.Digest == s.second.Digest, " ", next.From, " ", next.Changes)
			}
		}
		return out
	}
	want := "true 2026-12-01T00:00:00Z [{worse In the duty to pay: The price is 0.50 EUR, instead of 0.25 EUR.}]"
	if got := announced(); got != [2]string{want, want} {
		t.Errorf("before the date: %q, want %q in both", got, want)
	}
	initialize := map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "initialize",
		"params": map[string]any{
			"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"},
		},
	}
	mcp := s.Call("/mcp", old.Token, initialize, "Accept", "application/json, text/event-stream")
	card := s.Get("/.well-known/agent-card.json")
	for name, body := range map[string][]byte{"initialize of MCP": mcp.Body, "the card of A2A": card.Body} {
		if text := string(body); !strings.Contains(text, `"policy_successor"`) || !strings.Contains(text, s.second.Digest) {
			t.Errorf("%s: %s, want policy_successor with the digest %s", name, text, s.second.Digest)
		}
	}
	before, _, later := strings.Cut(string(s.Get("/", "Accept", "text/html").Body), "From 1 December 2026 00:00 UTC")
	if !later || !strings.Contains(before, "In addition, each token has a limit") {
		t.Error("the front page does not show the terms that apply later, after those that apply now")
	}
	s.Later(s.from.Sub(s.Now()))
	if got := announced(); got != [2]string{} {
		t.Errorf("on the date: %q, want no successor", got)
	}
	if got := s.Get("/api/policy"); string(got.Body) != string(s.second.Bytes) || len(ending(got.Header)) > 0 {
		t.Errorf("the policy on the date: %s with %v, want the second one", got.Body, got.Header)
	}
}

// A refusal after the date has the difference between the agreed policy and the one in force in words.
func TestRefusalHasChangesOfPolicy(t *testing.T) {
	s := newSuccession(t)
	s.Later(s.from.Add(-time.Minute).Sub(s.Now()))
	old, _ := s.agreed("old", s.Directory.Current().Service("default").Offer(), "")
	s.Later(time.Minute)
	answer := s.Call("/api/intents/execute", old.Token, map[string]any{
		"intent_uid": gatetest.Ordering, "parameters": map[string]any{"product": "lamp"},
	})
	changes, err := json.Marshal(refused(s.Gate, answer, 403, reason.PolicyRequiresAgreement)["changes"])
	s.Must(err)
	if want := "The price is 0.50 EUR, instead of 0.25 EUR."; !strings.Contains(string(changes), want) {
		t.Errorf("changes: %s, want %q", changes, want)
	}
}

// An agreement remains valid for an intent with unchanged terms after many changes of another intent's price.
func TestTenSuccessionsInAnHour(t *testing.T) {
	s := newSuccession(t)
	old, _ := s.agreed("old", s.Directory.Current().Service("default").Offer(), "")
	for n := range 10 {
		s.Write("policy.json", strings.Replace(gatetest.PolicyFile, `"0.25"`, fmt.Sprintf(`"1.%02d"`, n), 1))
		s.Reload()
		s.Later(5 * time.Minute)
	}
	if got := [2]string{s.search(old), s.order(old)}; got != [2]string{"", "403 POLICY_REQUIRES_AGREEMENT"} {
		t.Errorf("search and order: %q, want a free search and a refused order", got)
	}
}

// A call that began before the date is charged at the price that the agent has agreed to, even if it ends after the date.
func TestCallAcrossDateOfPolicy(t *testing.T) {
	s := newSuccession(t)
	s.Later(s.from.Add(-time.Minute).Sub(s.Now()))
	old, _ := s.agreed("old", s.Directory.Current().Service("default").Offer(), "")
	s.Upstream = func(w http.ResponseWriter, _ *http.Request) {
		s.Pass(time.Minute)
		_, _ = w.Write([]byte(`{"ok":true}`))
	}
	answer := s.Call("/api/intents/execute", old.Token, map[string]any{
		"intent_uid": gatetest.Ordering, "parameters": map[string]any{"product": "lamp"},
	})
	if charge := answer.Header.Get("UIM-Charge"); !strings.HasPrefix(charge, "0.25 EUR") || !strings.HasSuffix(charge, "state=captured") {
		t.Errorf("status %d, charge %q, want 0.25 EUR captured", answer.Status, charge)
	}
	s.Must(s.View.Refresh(t.Context()))
	if got := s.order(old); got != "403 POLICY_REQUIRES_AGREEMENT" {
		t.Errorf("the next order: %s, want %s", got, "403 POLICY_REQUIRES_AGREEMENT")
	}
}

// If the operator withdraws a policy before its date, agreements to it hold for the intents whose terms are the same in the one in force.
func TestWithdrawnSuccessor(t *testing.T) {
	s := newSuccession(t)
	eager, _ := s.agreed("eager", s.second, "now")
	s.Write("uimgate.yaml", strings.Replace(s.Settings, ", {file: dearer.json, from: 2026-12-01T00:00Z}", "", 1))
	s.Reload()
	if got := [2]string{s.search(eager), s.order(eager)}; got != [2]string{"", "403 POLICY_REQUIRES_AGREEMENT"} {
		t.Errorf("search and order: %q, want a free search and a refused order", got)
	}
	if got := s.agree(s.Unapproved("late"), s.second, ""); got.Reason() != reason.PolicyMismatch {
		t.Errorf("an agreement to the withdrawn policy: %s, want %s", got.Body, reason.PolicyMismatch)
	}
}

// If the document of the next policy changes and its terms stay the same, agreements to the earlier document hold.
func TestEditedSuccessor(t *testing.T) {
	s := newSuccession(t)
	eager, _ := s.agreed("eager", s.second, "now")
	s.Write("dearer.json", strings.Replace(string(s.second.Bytes), `"uid"`, `"dct:description": "Prices of 2027.", "uid"`, 1))
	s.Reload()
	if got := [2]string{s.search(eager), s.order(eager)}; got != [2]string{"", "0.50 EUR"} {
		t.Errorf("search and order: %q, want a free search and an order for 0.50 EUR", got)
	}
	eager.Token = s.renewed(eager)
	if got := s.order(eager); got != "0.50 EUR" {
		t.Errorf("an order with the renewed PAT: %s, want 0.50 EUR", got)
	}
}
