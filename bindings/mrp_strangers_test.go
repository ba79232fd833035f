package bindings_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	mrptest "github.com/uimgate/uimgate/internal/test/mrp"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/pat"
)

// An agent that the operator has approved gets replies, however many messages of other agents are in progress.
func TestStrangersLeavePlacesToApprovedAgents(t *testing.T) {
	t.Parallel()
	const unapprovedAtOnce = 48                                                                       // of 64 places
	g := gatetest.New(t, strings.Replace(settings, "url: UPSTREAM", "url: UPSTREAM, timeout: 5m", 1)) // no call times out
	arrived, release := make(chan struct{}, 1000), make(chan struct{})
	g.Upstream = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("query") != "lamp" {
			arrived <- struct{}{}
			<-release
		}
		_, _ = io.WriteString(w, `{"ok":true}`)
	}
	approved := agent(g)
	token := agrees(g, approved)
	g.Must(g.Store.SetAgent(t.Context(), pat.AgentChange{
		Service: "default", ID: pat.AgentID(approved.ID()), Status: pat.AgentActive, Approved: true,
	}))
	bodies := map[*mrptest.Agent][]byte{} // of other agents, which agree before they take all of their places
	for range 24 {
		stranger := agent(g)
		bodies[stranger] = fmt.Appendf(nil, `{"action":"uim:execute","params":{"intent_uid":%q,"parameters":{"query":"slow"},"pat":%q}}`,
			gatetest.Searching, agrees(g, stranger))
	}
	for stranger, body := range bodies {
		for range 8 {
			_, err := stranger.Send(t.Context(), wire.Send{Recipient: stranger.To, ContentType: wire.TypeRequest, Body: body})
			g.Must(err)
		}
	}
	for range unapprovedAtOnce {
		<-arrived
	}
	expect(t, "of an approved agent", approved.Ask(t, "uim:execute", call(gatetest.Searching, token)), `"output":{"ok":true}`)
	if n := len(arrived); n != 0 {
		t.Errorf("%d more calls of strangers are in progress", n)
	}
	close(release)
}
