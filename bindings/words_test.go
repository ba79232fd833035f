package bindings_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/strictjson"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// TestRefusalTextHasRetrySeconds uses up a limit. At every door, the text of the refusal contains the seconds to wait: in the message if
// agents get no header fields, and otherwise in the suggestion.
func TestRefusalTextHasRetrySeconds(t *testing.T) {
	t.Parallel()
	in := opensInbox(t)
	settings := gatetest.RelaySettings + "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, " +
		"doors: {uagents: {" + in.rules(t) + "}, aea: {tcp: '127.0.0.1:0'}, mrp: {}}}\n"
	g := gatetest.New(t, settings, func(g *gatetest.Gate) {
		g.Write("policy.json", strings.Replace(gatetest.PolicyFile, `"action": "execute"}`,
			`"action": "execute", "constraint": [{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 1, "unit": "hour"}]}`, 1))
	})
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"lamps":1}`) }
	number := int64(0)
	refused := func(token string, own, all map[string]way) {
		for name, w := range all {
			number++
			text := inClear(w.send(g, http.DefaultClient, token, number))
			want := regexp.MustCompile(`Wait \d+ seconds\.`)
			if _, message := own[name]; message {
				want = regexp.MustCompile(`"message":"[^"]* Try again in \d+ seconds\."`)
			}
			if !want.Match(text) {
				t.Errorf("%s: %s", name, text)
			}
		}
	}
	token, own := inEnvelopes(g, in)
	all := maps.Clone(ways)
	maps.Copy(all, own)
	for _, w := range own {
		w.send(g, http.DefaultClient, token, 1<<20) // uses up the limit of one call
		break
	}
	refused(token, own, all)
	for name, comes := range map[string]func(*gatetest.Gate) (string, way){"AEA": inMessages, "MRP": byRelay} {
		token, w := comes(g)
		w.send(g, http.DefaultClient, token, 1<<21)
		refused(token, map[string]way{name: w}, map[string]way{name: w})
	}
}

// inClear returns the payload of an answer that is an envelope, and any other answer unchanged.
func inClear(answer []byte) []byte {
	e, err := strictjson.DecodeObject(answer)
	if err != nil || e.Text("payload") == "" {
		return answer
	}
	payload, err := base64.StdEncoding.DecodeString(e.Text("payload"))
	if err != nil {
		return answer
	}
	return bytes.TrimSpace(payload)
}
