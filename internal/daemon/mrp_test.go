package daemon_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/agent/mrp"
	mrptest "github.com/uimgate/uimgate/internal/test/mrp"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// TestDoorOfMRP starts a process with a relay and a door that uses it, makes an agent agree and call, and stops the process while a call
// is in progress. The next process has the same identity at the same relay, which has the answer.
func TestDoorOfMRP(t *testing.T) {
	t.Parallel()
	shop := newHeldShop(`{"products":[]}`)
	set := setup{config: testConfig + "  doors: {mrp: {}}\nmrp_relay: {listen: 127.0.0.1:0}\n", upstream: shop.serve, dir: t.TempDir()}
	g := startGate(t, set)
	first := g.doors["mrp"]
	a := mrptest.New(t, first["relay"], first["key"], time.Now)
	token := a.Agrees(t, g.url+"/api/pat/issue").PAT
	params := fmt.Sprintf(`{"intent_uid":%q,"parameters":{"query":"lamp"},"pat":%q}`, search, token)
	if answer := a.Ask(t, "uim:execute", params); !strings.Contains(answer, `"output":{"products"`) {
		t.Errorf("got %q, want a text that contains %q", answer, `"output":{"products"`)
	}
	permitted(t, g, "mrp")
	var sent wire.Receipt
	shop.endsDuring(g, func() {
		var err error
		sent, err = a.Send(t.Context(), wire.Send{
			Recipient: a.To, ContentType: wire.TypeRequest, Body: fmt.Appendf(nil, `{"action":"uim:execute","params":%s}`, params),
		})
		if err != nil {
			t.Fatal(err)
		}
	}, func() {}) // the answer waits at the relay

	second := startGate(t, set).doors["mrp"]
	if second["key"] != first["key"] {
		t.Errorf("%v, was %v", second, first)
	}
	a = mrptest.With(t, a.Key, second["relay"], second["key"], time.Now)
	page, err := a.Poll(t.Context(), mrp.Filter{InReplyTo: sent.MessageID, Wait: 20 * time.Second})
	if err != nil || len(page.Messages) != 1 || !strings.Contains(string(page.Messages[0].Body), `"replayed":false`) {
		t.Errorf("got %+v, %v", page.Messages, err)
	}
	if answer := a.Ask(t, "uim:execute", params); !strings.Contains(answer, `"output":{"products"`) {
		t.Errorf("got %q, want a text that contains %q", answer, `"output":{"products"`)
	}
}
