package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	mrp "github.com/uimgate/uimgate/internal/wire/mrp/client"
	"github.com/uimgate/uimgate/internal/wire/mrp/e2e"
)

// answering returns a relay that delivers the messages that reply returns, one at each poll, as B's answers to A.
func answering(t *testing.T, reply func(sent wire.Send) []string) *stub {
	t.Helper()
	var mu sync.Mutex
	var inbox []string
	return stubRelay(t, map[string]http.HandlerFunc{
		"POST /v1/messages": func(w http.ResponseWriter, r *http.Request) {
			var sent wire.Send
			_ = json.NewDecoder(r.Body).Decode(&sent)
			mu.Lock()
			defer mu.Unlock()
			inbox = append(inbox, reply(sent)...)
			says(202, `{"message_id":"msg_q","status":"sent","created_at":"2026-03-05T12:00:00Z","expires_at":"2026-03-12T12:00:00Z"}`)(w, r)
		},
		"GET /v1/messages": func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			next := ""
			if len(inbox) > 0 && r.URL.Query().Get("status") == "" {
				next, inbox = inbox[0], inbox[1:]
			}
			says(200, `{"messages":[%s],"has_more":false,"next_cursor":null}`, next)(w, r)
		},
	})
}

func answer(id, contentType, body string) string {
	return message(id, func(m *wire.Message) { m.InReplyTo, m.ContentType, m.Body = "msg_q", contentType, []byte(body) })
}

func TestAsk(t *testing.T) {
	s := answering(t, func(sent wire.Send) []string {
		if sent.ContentType != wire.TypeRequest || string(sent.Body) != `{"action":"text:translate","params":{"n":12345678901234567890}}` {
			t.Errorf("got %+v", sent)
		}
		return []string{
			answer("msg_1", wire.TypeStatus, `{"stage":"work\u001bing","progress":7}`), answer("msg_1", wire.TypeStatus, `{}`),
			message("msg_2", func(m *wire.Message) { m.InReplyTo, m.ContentType = "msg_q2", wire.TypeResponse }),
			answer("msg_3", wire.TypeEvent, `{}`),
			answer("msg_4", wire.TypeResponse, `{"status":"ok","result":{"n":12345678901234567890}}`),
		}
	})
	var progress []wire.Progress
	r, err := client(t, s).Ask(t.Context(), keyB, wire.Request{
		Action: "text:translate", Params: map[string]any{"n": json.Number("12345678901234567890")},
	}, mrp.AskOptions{Progress: func(p wire.Progress) { progress = append(progress, p) }})
	result, _ := r.Result.(map[string]any)
	if err != nil || r.Status != wire.ResponseOK || result["n"] != json.Number("12345678901234567890") {
		t.Errorf("got %+v, %v", r, err)
	}
	if len(progress) != 1 || progress[0].State != "work ing" || progress[0].Progress != 1 {
		t.Errorf("got %+v; want length 1, [0].State %q and [0].Progress 1", progress, "work ing")
	}
}

func TestAskEncrypted(t *testing.T) {
	sealed := func(contentType, body string) string {
		text, err := e2e.Seal(b, keyA, contentType, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for name, c := range map[string]struct {
		contentType, body string
		want              error
	}{
		"encrypted":      {wire.TypeEncrypted, sealed(wire.TypeResponse, `{"status":"error","error":{"code":"no_such","message":"a\u001b"}}`), nil},
		"plain":          {wire.TypeResponse, `{"status":"ok"}`, mrp.ErrPlain},
		"forged":         {wire.TypeEncrypted, strings.Replace(sealed(wire.TypeResponse, `{}`), `"ct":"`, `"ct":"AAAA`, 1), e2e.ErrOpen},
		"not a response": {wire.TypeEncrypted, sealed(wire.TypeResponse, `{"status":"maybe"}`), mrp.ErrAnswer},
		"a text":         {wire.TypeEncrypted, sealed(wire.TypeText, `x`), mrp.ErrAnswer},
	} {
		s := answering(t, func(sent wire.Send) []string {
			if contentType, body, err := e2e.Open(b, keyA, sent.Body); err != nil || contentType != wire.TypeRequest || string(body) != `{"action":"x","params":null,"mrp_content_type":"`+wire.TypeRequest+`"}` {
				t.Errorf("%s: sent %+v: %v", name, sent, err)
			}
			return []string{answer("msg_1", c.contentType, c.body)}
		})
		r, err := client(t, s).Ask(t.Context(), keyB, wire.Request{Action: "x"}, mrp.AskOptions{Encrypt: true})
		if !errors.Is(err, c.want) || err == nil && (r.Fault == nil || r.Fault.Code != "no_such" || r.Fault.Message != "a ") {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// An answer that arrives before Ask has sent its request completely goes to Ask, not to the handler.
func TestAskWhileListening(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	requested, answered, listening := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s := stubRelay(t, map[string]http.HandlerFunc{
		"GET /v1/ws": socket(t, func(ctx context.Context, _ int32, conn *websocket.Conn) {
			<-requested
			push(ctx, conn, answer("msg_1", wire.TypeJSON, `{"status":"ok","result":1}`))
			push(ctx, conn, message("msg_2", nil))
			close(answered)
			acks(ctx, conn, 3)
		}),
		"POST /v1/messages": func(w http.ResponseWriter, r *http.Request) {
			close(requested)
			<-answered
			says(202, `{"message_id":"msg_q","status":"sent","created_at":"2026-03-05T12:00:00Z","expires_at":"2026-03-12T12:00:00Z"}`)(w, r)
		},
		"GET /v1/messages": func(http.ResponseWriter, *http.Request) { t.Error("the client polls although it listens") },
	})
	c := client(t, s)
	var group sync.WaitGroup
	group.Go(func() {
		err := c.Listen(ctx, mrp.ListenOptions{State: func(err error) {
			if err == nil {
				close(listening)
			}
		}}, func(_ context.Context, m wire.Message) error {
			if m.ID != "msg_2" {
				t.Errorf("handled %s, want %q", m.ID, "msg_2")
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-listening
	r, err := c.Ask(ctx, keyB, wire.Request{Action: "x"}, mrp.AskOptions{})
	if err != nil || r.Result != json.Number("1") {
		t.Errorf("got %+v, %v", r, err)
	}
	cancel()
	group.Wait()
}

func TestReply(t *testing.T) {
	var sent []wire.Send
	s := answering(t, func(m wire.Send) []string { sent = append(sent, m); return nil })
	c := client(t, s)
	request, err := e2e.SealSend(b, wire.Send{Recipient: keyA, ContentType: wire.TypeRequest, Body: []byte(`{"action":"x"}`)})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []wire.Message{
		{ID: "i", Sender: keyB},
		{ID: "i", Sender: keyB, ThreadID: "t"},
		{ID: "i", Sender: keyB, ContentType: wire.TypeEncrypted, Body: request.Body},
	} {
		if _, err := c.Reply(t.Context(), m, wire.Send{ContentType: wire.TypeResponse, Body: []byte(`{"status":"ok"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []wire.Send{
		{ThreadID: "i", ContentType: wire.TypeResponse}, {ThreadID: "t", ContentType: wire.TypeResponse}, {ThreadID: "i", ContentType: wire.TypeEncrypted},
	} {
		if got := sent[i]; got.Recipient != keyB || got.InReplyTo != "i" || got.ThreadID != want.ThreadID || got.ContentType != want.ContentType {
			t.Errorf("got %+v", got)
		}
	}
}
