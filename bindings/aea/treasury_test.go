package aea_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/uimgate/uimgate/bindings/aea"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/bindings/aea/skill"
	"github.com/uimgate/uimgate/gateway/record"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

var spenderID = wire.PublicID{Author: "shop", Name: "spender", Version: "1.0.0"}

// spenders has, by the name of the test's skill, the transactions that it proposes and the replies.
var spenders = map[string]*spender{
	"spender": newSpender(), "patient spender": newSpender(),
}

type spender struct {
	proposals chan string
	replies   chan protocol.SigningMessage
}

func newSpender() *spender {
	return &spender{make(chan string, 8), make(chan protocol.SigningMessage, 8)}
}

func init() { //nolint:gochecknoinits // as a program of an operator does
	for name, s := range spenders {
		aea.RegisterSkill(name, func(r *runtime.Runtime) (runtime.Skill, error) {
			return runtime.Skill{
				ID: spenderID,
				Handlers: []runtime.Handler{{Protocol: &protocol.Signing, Handle: func(_ context.Context, m runtime.Message) error {
					if c, ok := m.Content.(protocol.SigningMessage); ok && m.Inside() {
						s.replies <- c
					}
					return nil
				}}},
				Behaviours: []runtime.Behaviour{{Name: "propose", Once: true, Act: func(context.Context) error {
					for text := range s.proposals {
						_, err := r.Start(spenderID, protocol.Signing.Specs[0], runtime.DecisionMakerID.String(),
							protocol.SigningMessage{Performative: protocol.SigningSignTransaction, Payload: []byte(text)})
						if err != nil {
							return err
						}
					}
					return nil
				}}},
			}, nil
		})
	}
}

func orderOf(product string) string {
	return fmt.Sprintf(`{"intent_uid": %q, "parameters": {"product": %q}}`, gatetest.Ordering, product)
}

// signings returns the lines about signatures of the audit stream.
func signings(g *gatetest.Gate) (lines []record.Line) {
	g.Helper()
	g.Must(g.Audit.Flush())
	data, err := os.ReadFile(g.AuditPath())
	g.Must(err)
	for text := range strings.Lines(string(data)) {
		var line record.Line
		g.Must(json.Unmarshal([]byte(text), &line))
		if line.Signing != nil {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestAgentSpendsItsCredit has a skill propose two transactions at once. The credit of the unapproved agent, 0.30 EUR, covers one of
// them, so the pipeline begins one and refuses the other. Proposals that are not calls, or that bring a PAT, are refused as well. Every
// decision is in the audit stream.
func TestAgentSpendsItsCredit(t *testing.T) {
	t.Parallel()
	s := spenders["spender"]
	g := gatetest.New(t, "billing: {credit: 3 EUR}\n"+strings.Replace(strings.Replace(settings, "aea: {", "aea: {skills: {own: [spender]}, ", 1),
		gatetest.Unproved+", ", "", 1)) // calls that are charged need a proof of key
	t.Cleanup(func() { close(s.proposals) })
	var calls atomic.Int64
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		fmt.Fprint(w, `{"ok":true}`)
	}
	at := addresses(g)
	key, err := identity.ParsePublicKey(identity.Fetchai, at["node_key"])
	g.Must(err)
	texts := map[string]string{}
	for _, text := range []string{orderOf("lamp"), orderOf("desk")} {
		sum := sha256.Sum256([]byte(text))
		texts[hex.EncodeToString(sum[:])] = text
		s.proposals <- text
	}
	signed := 0
	for range 2 {
		m := <-s.replies
		if m.Performative == protocol.SigningError {
			if m.Code != protocol.UnsuccessfulTransactionSigning {
				t.Errorf("got the code %d", m.Code)
			}
			continue
		}
		signed++
		signature, text, _ := strings.Cut(string(m.Payload), "\n")
		lines := strings.SplitN(text, "\n", 4)
		if !key.Verify([]byte(text), signature) || len(lines) != 4 || lines[0] != runtime.DecisionMakerID.String() ||
			lines[1] != spenderID.String() || texts[lines[2]] == "" || !strings.Contains(lines[3], `"data":{"ok":true}`) ||
			!strings.Contains(lines[3], `"amount":"0.25"`) {
			t.Errorf("got %q", m.Payload)
		}
	}
	if signed != 1 || calls.Load() != 1 {
		t.Errorf("%d transactions signed, %d calls; want 1 and 1", signed, calls.Load())
	}
	for _, text := range []string{"", "[]", `{"intent_uid": "x"}`, strings.Replace(orderOf("lamp"), "{", `{"pat": "x", `, 1), orderOf("lamp")} {
		s.proposals <- text
		if m := <-s.replies; m.Performative != protocol.SigningError {
			t.Errorf("%s: got %+v, want an error", text, m)
		}
	}
	accounts, err := g.Store.Accounts(t.Context(), store.Filter{Service: "default", AgentID: pat.AgentID(at["address"])})
	if err != nil || len(accounts) != 1 || accounts[0].Captured.String() != "0.25 EUR" || accounts[0].Held.Nano != 0 {
		t.Errorf("got %+v, %v", accounts, err)
	}
	for _, one := range activity(g).Skills {
		if state, ok := one.State.(runtime.DecisionStatus); ok {
			owns, _ := state.Holdings.(*skill.Holdings)
			if owns == nil || !strings.Contains(string(owns.Balance), `"available":"0.05"`) || owns.PolicySHA256 == "" || state.Signed != 1 ||
				state.Refused != 6 {
				t.Errorf("got %+v, %s", state, owns.Balance)
			}
		}
	}
	lines := signings(g)
	decisions := map[string]int{}
	for _, line := range lines {
		decisions[line.Decision]++
		if line.Agent != at["address"] || line.Service != "default" || line.Door != "aea" || line.Signing.Skill != spenderID.String() ||
			line.Signing.Kind != "transaction" {
			t.Errorf("got %+v", line)
		}
	}
	if len(lines) != 7 || decisions[record.Signed] != 1 || decisions[record.SignRefused] != 6 {
		t.Errorf("got %v, want 1 signature and 6 refusals", decisions)
	}
	for _, entry := range g.Logs.All() {
		if strings.Contains(fmt.Sprint(entry.ContextMap()), "lamp") {
			t.Errorf("the log contains a parameter: %v", entry.ContextMap())
		}
	}
}

// TestAgentNeedsApproval checks that the service's agent needs the approval of the operator like any other, and that it agrees again when
// the policy changes.
func TestAgentNeedsApproval(t *testing.T) {
	t.Parallel()
	s := spenders["patient spender"]
	g := gatetest.New(t, "pat: {admission: approval}\n"+strings.Replace(settings, "aea: {", "aea: {skills: {own: [patient spender]}, ", 1))
	at := addresses(g)
	t.Cleanup(func() { close(s.proposals) })
	proposed := func(want protocol.Performative) {
		t.Helper()
		s.proposals <- orderOf("lamp")
		if m := <-s.replies; m.Performative != want {
			t.Errorf("got %+v, want %s", m, want)
		}
	}
	proposed(protocol.SigningError)
	list, err := g.Store.Agreements(t.Context(), store.AgreementFilter{Service: "default", AgentID: pat.AgentID(at["address"]), Limit: 10})
	if err != nil || len(list) != 1 || list[0].State != pat.AgreementPending {
		t.Fatalf("got %+v, %v", list, err)
	}
	g.Must(g.Directory.Current().Service("default").Issuance.Approve(t.Context(), pat.AgentID(at["address"])))
	proposed(protocol.SigningSignedTransaction)
	s.proposals <- strings.Replace(orderOf("lamp"), "{", `{"idempotency_key": 7, `, 1)
	if m := <-s.replies; m.Performative != protocol.SigningError { // without its key, a repetition would be charged again
		t.Errorf("a key that is a number: got %+v, want an error", m)
	}
	g.Write("policy.json", strings.Replace(gatetest.PolicyFile, "policy/1", "policy/2", 1))
	g.Reload()
	proposed(protocol.SigningSignedTransaction)
	list, err = g.Store.Agreements(t.Context(), store.AgreementFilter{Service: "default", AgentID: pat.AgentID(at["address"]), Limit: 10})
	if err != nil || len(list) != 3 {
		t.Errorf("%d agreements, %v; want 3: pending, approved, and of the new policy", len(list), err)
	}
}
