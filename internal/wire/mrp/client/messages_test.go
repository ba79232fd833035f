package client_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	mrp "github.com/uimgate/uimgate/internal/wire/mrp/client"
)

// The client drops invalid messages and messages for other agents, and keeps the rest of the list.
func TestInvalidMessagesAreSkipped(t *testing.T) {
	with := func(change func(m *wire.Message)) string { return message("msg_x", change) }
	bad := []string{
		with(func(m *wire.Message) { m.Sender, m.Recipient = keyB, keyB }),
		with(func(m *wire.Message) { m.ID = "" }),
		with(func(m *wire.Message) { m.ID = strings.Repeat("x", 200) }),
		with(func(m *wire.Message) { m.ContentType = "a\u202eb" }),
		with(func(m *wire.Message) { m.ContentType = "" }),
		with(func(m *wire.Message) { m.ThreadID = "a\nb" }),
		with(func(m *wire.Message) { m.Body = nil }),
		with(func(m *wire.Message) { m.Attachments = make([]wire.Attachment, 11) }),
		with(func(m *wire.Message) { m.Attachments = []wire.Attachment{{BlobID: ".."}} }),
		with(func(m *wire.Message) { m.Attachments = []wire.Attachment{{BlobID: "b", Filename: "\x1b[31m"}} }),
		strings.Replace(with(nil), keyB.String(), "x", 1), strings.Replace(with(nil), `"created_at":"`, `"created_at":"x`, 1), "null", "[]", "1",
	}
	deep := with(func(m *wire.Message) {
		m.ID, m.Body = "msg_deep", []byte(strings.Repeat("[", 64)+strings.Repeat("]", 64))
	})
	list := message("msg_1", nil) + "," + strings.Join(bad, ",") + "," + deep
	var query string
	s := stubRelay(t, map[string]http.HandlerFunc{"GET /v1/messages": func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.RawQuery
		says(200, `{"messages":[%s],"has_more":true,"next_cursor":"c2","unknown":{}}`, list)(w, r)
	}})
	p, err := client(t, s).Poll(t.Context(), mrp.Filter{
		Status: wire.Delivered, Sender: &keyB, InReplyTo: "i d", ThreadID: "t&", Limit: 500, Cursor: "c1", Wait: time.Hour,
	})
	if err != nil || len(p.Messages) != 2 || p.Messages[0].ID != "msg_1" || p.Messages[1].ID != "msg_deep" || p.Dropped != len(bad) ||
		p.Next != "c2" {
		t.Errorf("got %+v, %v", p, err)
	}
	want := "cursor=c1&in_reply_to=i+d&limit=100&sender_key=" + keyB.String() + "&status=delivered&thread_id=t%26&wait=30"
	if query != want {
		t.Errorf("got %s, want %s", query, want)
	}
}

func TestMessageStatusAndThread(t *testing.T) {
	s := stubRelay(t, map[string]http.HandlerFunc{
		"GET /v1/messages/msg_1": says(200, "%s", message("msg_1", func(m *wire.Message) { m.Body = []byte(`{"a":  1}`) })),
		"GET /v1/messages/msg_2": says(200, "%s", message("msg_1", nil)),
		"GET /v1/messages/msg_1/status": says(200,
			`{"message_id":"msg_1","status":"delivered","created_at":"2026-03-05T12:00:00Z","expires_at":"2026-03-05T12:00:00Z","delivered_at":"2026-03-05T12:00:01Z"}`),
		"GET /v1/messages/threads/{id}": func(w http.ResponseWriter, r *http.Request) {
			if r.PathValue("id") != "a/b c" {
				t.Errorf("the thread %q, want %q", r.PathValue("id"), "a/b c")
			}
			says(200, `{"messages":[%s],"has_more":false,"next_cursor":"x"}`, message("msg_1", nil))(w, r)
		},
	})
	c := client(t, s)
	if m, err := c.Message(t.Context(), "msg_1"); err != nil || string(m.Body) != `{"a":  1}` || m.Sender != keyB {
		t.Errorf("got %+v, %v", m, err)
	}
	if m, err := c.Message(t.Context(), "msg_2"); err == nil {
		t.Errorf("another message: %+v", m)
	}
	if r, err := c.Status(t.Context(), "msg_1"); err != nil || r.Status != wire.Delivered || r.DeliveredAt.IsZero() {
		t.Errorf("got %+v, %v", r, err)
	}
	if p, err := c.Thread(t.Context(), "a/b c", mrp.Filter{}); err != nil || len(p.Messages) != 1 || p.Next != "" {
		t.Errorf("got %+v, %v; want no error, Messages of length 1 and Next empty", p, err)
	}
}

func TestDiscover(t *testing.T) {
	agent := func(k wire.Key, name string) string {
		return `{"public_key":"` + k.String() + `","display_name":` + name + `,"last_active_at":"2026-03-05T12:00:00Z","capabilities":[]}`
	}
	var queries []string
	s := stubRelay(t, map[string]http.HandlerFunc{"GET /v1/discover": func(w http.ResponseWriter, r *http.Request) {
		queries = append(queries, r.URL.RawQuery)
		if r.URL.Query().Get("cursor") == "" {
			says(200, `{"agents":[%s,%s,{"public_key":1},%s],"has_more":true,"next_cursor":"2"}`,
				agent(keyA, `"A"`), agent(keyB, `"\u001b"`), strings.Repeat("[", 200)+strings.Repeat("]", 200))(w, r)
			return
		}
		says(200, `{"agents":[%s,%s],"has_more":true,"next_cursor":"2"}`, agent(keyA, "null"), agent(keyB, `"B"`))(w, r)
	}})
	var names []string
	for found, err := range client(t, s).All(t.Context(), mrp.Search{Tags: []string{"a", "b"}, Text: "x y", Limit: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, *found.DisplayName)
	}
	if strings.Join(names, " ") != "A B" {
		t.Errorf("found %v", names)
	}
	if strings.Join(queries, " ") != "limit=2&q=x+y&tag=a&tag=b cursor=2&limit=2&q=x+y&tag=a&tag=b" {
		t.Error(queries)
	}
}
