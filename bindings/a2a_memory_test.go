package bindings_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/membudget"
	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// If there is not enough memory for a message, it is refused before it is read, and the error reports that nothing was sent.
func TestMessageBeyondMemoryLimit(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, "", func(g *gatetest.Gate) {
		g.Memory = membudget.NewBudget(64<<10, func() { g.Metrics.Shed(reason.ShedMemory) })
	})
	g.Upstream = func(http.ResponseWriter, *http.Request) { t.Error("the service was called") }
	token := g.Agreed("agent-1").Token
	rpc := a2aMessage("SendMessage", "m1", gatetest.Searching, `{"query":[`+strings.Repeat("0,", 5000)+`0]}`)
	for path, body := range map[string]string{
		"/a2a": rpc, "/a2a/v1/message:send": strings.TrimSuffix(rpc[strings.Index(rpc, `{"message":`):], "}"),
	} {
		r := post(g, t.Context(), token, body)
		r.URL.Path = path
		answer := g.Send(r)
		if text := string(answer.Body); answer.Status != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" ||
			!strings.Contains(text, `"reason":"OVERLOADED"`) || !strings.Contains(text, `"outcome":"not_sent"`) {
			t.Errorf("%s: %d %s", path, answer.Status, text)
		}
	}
}
