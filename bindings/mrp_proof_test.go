package bindings_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	mrptest "github.com/uimgate/uimgate/internal/test/mrp"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/internal/wire/mrp/client"
)

const (
	shut     = gatetest.RelaySettings + "services:\n- {" + members + "}\n"
	unproved = `"code":"policy_requires_verification"`
)

// The request that brought a message is a proof of key for 15 minutes. After that, a call that costs money needs a separate proof.
func TestSignedRequestIsProof(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, settings)
	a := agent(g)
	token := agrees(g, a)
	waits := func(passes time.Duration, params string) string {
		t.Helper()
		g.Write("uimgate.yaml", strings.Replace(g.Settings, ", doors: {mrp: {relay: local}}", "", 1))
		g.Reload()
		if _, open := status(g); open {
			t.Fatal("the door is open")
		}
		receipt, err := a.Send(t.Context(), wire.Send{
			Recipient: a.To, ContentType: wire.TypeRequest, Body: fmt.Appendf(nil, `{"action":"uim:execute","params":%s}`, params),
		})
		g.Must(err)
		g.Later(passes)
		g.Write("uimgate.yaml", g.Settings)
		g.Reload()
		return string(answerTo(t, a, receipt.MessageID).Body)
	}
	expect(t, "in time", waits(14*time.Minute, call(gatetest.Ordering, token)), `"output":{"ok":true}`)
	expect(t, "too late", waits(15*time.Minute+time.Second, call(gatetest.Ordering, token)), unproved)
	expect(t, "too late, with a proof", waits(16*time.Minute, call(gatetest.Ordering, token,
		fmt.Sprintf(`"proof":%q`, later(g, 16*time.Minute, func() string { return proof(g, a, token) })))), `"output":{"ok":true}`)
}

// later calls made with the clock set ahead, and returns its result.
func later(g *gatetest.Gate, by time.Duration, made func() string) string {
	g.Pass(by)
	defer g.Pass(-by)
	return made()
}

// answerTo waits for the reply to a message.
func answerTo(t *testing.T, a *mrptest.Agent, id string) wire.Message {
	t.Helper()
	for {
		page, err := a.Poll(t.Context(), client.Filter{InReplyTo: id, Wait: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.Messages {
			if m.ContentType != wire.TypeStatus {
				return m
			}
		}
	}
}

// A service at a remote relay publishes its profile there, and lists the relay in its agents.json. See TestCallsOverEachRelay.
func TestRemoteRelay(t *testing.T) {
	t.Parallel()
	elsewhere := gatetest.New(t, shut)
	g := gatetest.New(t, "services:\n- {"+members+", doors: {mrp: {relay: '"+elsewhere.RelayURL+"', name: Lamps}}}\n")
	s, _ := status(g)
	if s.Addresses["relay"] != elsewhere.RelayURL {
		t.Errorf("got %v", s)
	}
	a := agent(g)
	token := agrees(g, a)
	named := a.Ask(t, gatetest.Ordering, `{"product":"lamp"}`, fmt.Sprintf(`"uim_pat":%q,"uim_proof":%q`, token, proof(g, a, token)))
	expect(t, "by its name", named, `"charge":"0.25 EUR`)
	p, err := a.Profile(t.Context(), a.To)
	if err != nil || p.DisplayName == nil || *p.DisplayName != "Lamps" || len(p.Capabilities) != 7 {
		t.Errorf("got %+v, %v", p, err)
	}
	if body := string(g.Get("/agents.json").Body); !strings.Contains(body, `"uim-mrp": "`+s.Addresses["key"]+`"`) ||
		!strings.Contains(body, `"uim-mrp-relay": "`+elsewhere.RelayURL+`"`) {
		t.Error(body)
	}
}
