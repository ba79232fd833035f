package bindings_test

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/uimgate/uimgate/bindings/mrp"
	"github.com/uimgate/uimgate/gateway/door"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	mrptest "github.com/uimgate/uimgate/internal/test/mrp"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/internal/wire/mrp/client"
)

// atRelay returns an MRP agent with a new key, at the relay of the service.
func atRelay(g *gatetest.Gate) *mrptest.Agent {
	g.Helper()
	var at map[string]string
	for _, s := range door.Statuses(g.Modules, g.Directory.Current().Service("default")) {
		if s.Door == mrp.Name {
			at = s.Addresses
		}
	}
	if at["relay"] == mrp.LocalRelay {
		at["relay"] = g.RelayURL
	}
	return mrptest.New(g.T, at["relay"], at["key"], g.Now)
}

// byRelay makes an MRP agent agree, and returns its PAT and the way in which it sends messages. Every fourth message is encrypted, and
// replies arrive over a WebSocket.
func byRelay(g *gatetest.Gate) (token string, w way) {
	g.Helper()
	a := atRelay(g)
	token = a.Agrees(g.T, g.Directory.Current().Service("default").At("/api/pat/issue")).PAT
	ctx, stop := context.WithCancel(context.WithoutCancel(g.Context()))
	var listening sync.WaitGroup
	listening.Go(func() {
		if err := a.Listen(ctx, client.ListenOptions{}, func(context.Context, wire.Message) error { return nil }); err != nil {
			g.Error(err)
		}
	})
	g.Cleanup(func() { stop(); listening.Wait() })
	body := fmt.Appendf(nil, `{"action":"uim:execute","params":{"intent_uid":%q,"parameters":{"query":"lamp"},"pat":%q}}`,
		gatetest.Searching, token)
	return token, way{done: `"output":{"lamps":1}`, messages: func(number int64) []byte {
		m, err := a.Call(ctx, wire.Send{Recipient: a.To, ContentType: wire.TypeRequest, Body: body}, client.AskOptions{Encrypt: number%4 == 0})
		if err != nil {
			g.Error(err)
		}
		return m.Body
	}}
}

// inMRP sends valid and invalid messages as an MRP agent, and adds their secrets to s.
func inMRP(g *gatetest.Gate, s secrets) {
	g.Helper()
	a := atRelay(g)
	s["the seed of an MRP agent"] = string(a.Key.Seed())
	url := g.Directory.Current().Service("default").At("/api/pat/issue")
	signed := a.Agreement(g.T, url)
	s["an agreement of MRP"] = signed
	token := mrptest.Result[mrptest.Grant](g.T, a.Ask(g.T, "uim:agree", fmt.Sprintf(`{"agreement":%q}`, signed))).PAT
	s["a PAT of MRP"] = token
	for _, a.Encrypt = range []bool{false, true} {
		for _, params := range []string{
			calling(token), calling(token + "x"), strings.Replace(calling(token), `"query"`, `"quest"`, 1),
			strings.Replace(calling(token), gatetest.Searching, parameter, 1), strings.Replace(calling(token), `"pat"`, `"token"`, 1),
		} {
			a.Ask(g.T, "uim:execute", params)
		}
		beside := fmt.Sprintf(`"uim_pat":%q,"uim_proof":%q,%q:%q`, token, signed, parameter, token)
		for _, action := range []string{gatetest.Searching, gatetest.Ordering, parameter, token} {
			a.Ask(g.T, action, fmt.Sprintf(`{"query":%q}`, parameter), beside)
		}
		for action, params := range map[string]string{
			"uim:agree": fmt.Sprintf(`{"agreement":%q,"scope":[%q]}`, signed, parameter), "uim:search": fmt.Sprintf(`{%q:%q}`, token, parameter),
			"uim:renew": fmt.Sprintf(`{"pat":%q,"proof":%q}`, token, signed),
		} {
			a.Ask(g.T, action, params)
		}
		for _, contentType := range []string{wire.TypeText, wire.TypeJSON, wire.TypeRequest, "text/plain"} {
			a.Say(g.T, contentType, fmt.Sprintf("%q", token+parameter))
		}
	}
	a.Encrypt = false
	a.Say(g.T, wire.TypeEncrypted, fmt.Sprintf("%q", token+parameter))
}
