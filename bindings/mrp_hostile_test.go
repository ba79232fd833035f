package bindings_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/internal/wire/mrp/client"
)

func TestInvalidRequests(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, "server: {max_body: 2KiB, issue_per_address: 1000/second, per_address: 10000/second}\n"+settings)
	a := agent(g)
	token := agrees(g, a)
	for name, c := range map[string]struct{ contentType, body, want string }{
		"not an object":              {wire.TypeRequest, `[1]`, `"code":"malformed_request"`},
		"no action":                  {wire.TypeRequest, `{"params":{}}`, `"The member action is missing."`},
		"an action of another type":  {wire.TypeRequest, `{"action":7}`, `"The member action must be a string."`},
		"parameters of another type": {wire.TypeRequest, `{"action":"uim:search","params":[]}`, `"The member params must be an object."`},
		"too long":                   {wire.TypeRequest, `{"action":"uim:search","params":{"query":"` + strings.Repeat("x", 4<<10) + `"}}`, `"code":"body_too_large"`},
		"an unknown parameter":       {wire.TypeRequest, `{"action":"uim:search","params":{"querry":"x"}}`, `did you mean query?`},
		"an unknown cursor":          {wire.TypeRequest, `{"action":"uim:search","params":{"cursor":"x"}}`, `"The member cursor is not a cursor that this service returned."`},
		"a wrong agreement":          {wire.TypeRequest, `{"action":"uim:agree","params":{"agreement":"x"}}`, `"status":"error"`},
		"no agreement":               {wire.TypeRequest, `{"action":"uim:agree"}`, `"The member agreement is missing."`},
		"a multi-line token":         {wire.TypeRequest, `{"action":"uim:execute","params":` + call(gatetest.Searching, "x\ny") + `}`, `"code":"invalid_token"`},
		"a multi-line key":           {wire.TypeRequest, `{"action":"uim:execute","params":` + call(gatetest.Searching, token, `"idempotency_key":"a\nb"`) + `}`, `"code":"malformed_request"`},
		"unknown members":            {wire.TypeRequest, `{"action":"uim:policy","params":{},"response_format":"json","of":"tomorrow"}`, `"status":"ok"`},
		"null members":               {wire.TypeRequest, `{"action":"uim:policy","params":null,"uim_pat":null}`, `"status":"ok"`},
		"no text":                    {wire.TypeText, `{}`, `"code":"malformed_request"`},
		"JSON without text":          {wire.TypeJSON, `{"action":"uim:search"}`, wire.TypeRequest},
		"an image":                   {"image/png", `"x"`, `"code":"unsupported_media_type"`},
		"an undecryptable body":      {wire.TypeEncrypted, `{"v":2,"enc":"` + strings.Repeat("A", 43) + `","ct":"` + strings.Repeat("A", 43) + `","ct_content_type":"application/json"}`, `cannot be decrypted`},
		"an unencrypted body":        {wire.TypeEncrypted, `{"action":"uim:search"}`, `cannot be decrypted`},
		"words":                      {wire.TypeText, `"hello"`, `uim:search`},
		"words declared as JSON":     {wire.TypeJSON, `{"text":"hello"}`, `{"text":"shop.example: A shop`},
		"an upper-case type":         {"Application/X-MRP-Request+JSON; charset=utf-8", `{"action":"uim:policy"}`, `"status":"ok"`},
	} {
		m := a.Say(t, c.contentType, c.body)
		expect(t, name, string(m.Body), c.want)
		if strings.Contains(name, "words") == (m.ContentType == wire.TypeResponse) {
			t.Errorf("%s: the reply has the type %s", name, m.ContentType)
		}
	}
	for _, entry := range g.Logs.All() {
		if line := fmt.Sprint(entry.Message, entry.ContextMap()); strings.Contains(line, token) || strings.Contains(line, "lamp") {
			t.Errorf("the log has %s", line)
		}
	}
}

// Responses, events and progress reports get no reply, and text messages get only a limited number of replies.
func TestMessagesWithoutReply(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, settings)
	a := agent(g)
	quiet := map[string]bool{}
	for _, contentType := range []string{wire.TypeResponse, wire.TypeEvent, wire.TypeStatus} {
		receipt, err := a.Send(t.Context(), wire.Send{Recipient: a.To, ContentType: contentType, Body: []byte(`{"status":"ok","text":"x"}`)})
		g.Must(err)
		quiet[receipt.MessageID] = true
	}
	for range 30 {
		receipt, err := a.Send(t.Context(), wire.Send{Recipient: a.To, ContentType: wire.TypeText, Body: []byte(`"hello"`)})
		g.Must(err)
		quiet[receipt.MessageID] = false
	}
	a.Ask(t, "uim:policy", "{}") // sent last; every message before it is handled eventually
	answered := 0
	for id := range quiet {
		for s := wire.Sent; s != wire.Delivered; {
			receipt, err := a.Status(t.Context(), id)
			g.Must(err)
			s = receipt.Status
		}
		page, err := a.Poll(t.Context(), client.Filter{InReplyTo: id})
		g.Must(err)
		if answered += len(page.Messages); quiet[id] && len(page.Messages) > 0 {
			t.Errorf("got a reply: %s", page.Messages[0].Body)
		}
	}
	if answered != 20 {
		t.Errorf("got %d text replies, want 20", answered)
	}
}

// If a sender sends more messages than the service can handle, the excess is refused, and messages of others still get replies.
func TestFloodDoesNotStarveOthers(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, settings)
	flooder, other := agent(g), agent(g)
	flooding, others := agrees(g, flooder), agrees(g, other)
	release := make(chan struct{})
	g.Upstream = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("query") == "flood" {
			<-release
		}
		_, _ = io.WriteString(w, `{"ok":true}`)
	}
	flood := strings.Replace(call(gatetest.Searching, flooding), "lamp", "flood", 1)
	var sent []string
	var sending sync.Mutex
	var senders sync.WaitGroup
	for range 8 {
		senders.Go(func() {
			for range 32 {
				receipt, err := flooder.Send(t.Context(), wire.Send{
					Recipient: flooder.To, ContentType: wire.TypeRequest, Body: fmt.Appendf(nil, `{"action":"uim:execute","params":%s}`, flood),
				})
				if err != nil {
					t.Error(err)
					return
				}
				sending.Lock()
				sent = append(sent, receipt.MessageID)
				sending.Unlock()
			}
		})
	}
	senders.Wait()
	expect(t, "of another", other.Ask(t, "uim:execute", call(gatetest.Searching, others)), `"output":{"ok":true}`)
	close(release)
	var done, refused int
	for _, id := range sent {
		switch body := string(answerTo(t, flooder, id).Body); {
		case strings.Contains(body, `"output":{"ok":true}`):
			done++
		case strings.Contains(body, `"code":"overloaded"`):
			refused++
		default:
			t.Error(body)
		}
	}
	if done == 0 || refused == 0 {
		t.Errorf("%d done, %d refused", done, refused)
	}
}
