package bindings_test

import (
	"bytes"
	"cmp"
	"maps"
	"net/http"
	"testing"
	"time"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
)

// TestStoreUnavailable checks that no door accepts a call while revocations are unknown, and that each door reports that nothing was sent.
// An envelope without a PAT needs a PAT from the store. The MRP relay has its own tests.
func TestStoreUnavailable(t *testing.T) {
	t.Parallel()
	const members = "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}"
	elsewhere := gatetest.New(t, gatetest.RelaySettings+members+"}\n")
	g := gatetest.New(t, members+", doors: {uagents: {}, aea: {tcp: '127.0.0.1:0'}, mrp: {relay: '"+elsewhere.RelayURL+"'}}}\n")
	g.Upstream = func(http.ResponseWriter, *http.Request) { t.Error("the service was called") }
	all, tokens := maps.Clone(ways), map[string]string{}
	tokens["uAgents"], all["uAgents"] = g.AgreedInEnvelope(seed).Token, inEnvelope(g)
	unnamed := all["uAgents"]
	named := unnamed.signed
	unnamed.signed = func(_ string, number int64) string { return named("", number) }
	all["uAgents, without a PAT"] = unnamed
	tokens["AEA"], all["AEA"] = inMessages(g)
	tokens["MRP"], all["MRP"] = byRelay(g)
	token := g.Agreed("agent-1").Token
	g.Must(g.Store.Close())
	g.Pass(3 * time.Second) // the cached revocations become too old
	number := int64(0)
	for name, w := range all {
		with := cmp.Or(tokens[name], token)
		for range 2 { // AEA alternates between default and http
			number++
			answer := w.send(g, http.DefaultClient, with, number)
			if e, err := envelope.Parse(answer); err == nil {
				answer, err = e.Message()
				g.Must(err)
			}
			if !bytes.Contains(answer, []byte(`"outcome":"not_sent"`)) || !bytes.Contains(answer, []byte("STORE_UNAVAILABLE")) {
				t.Errorf("%s: %s", name, answer)
			}
		}
	}
}
