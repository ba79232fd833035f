package relay_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

func TestSendAndPoll(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		a, b, stranger := h.agent().known(), h.agent().known(), h.agent().known()
		const body = `{ "text" : "hé\u00e9 <&>", "n": 1.50 }`
		got := h.wants(http.StatusAccepted, "", a.do("POST", "/v1/messages",
			message(b.key(), body, `"thread_id":"t1"`, `"in_reply_to":"m0"`, `"metadata":{"k": "v"}`, `"content_type":"text/x"`)))
		if got.MessageID == "" || !strings.Contains(string(got.Raw), `"status":"sent"`) {
			t.Errorf("got %s", got.Raw)
		}
		path := "/v1/messages/" + got.MessageID
		h.wants(http.StatusOK, "", a.do("GET", path, ""))
		h.wants(http.StatusForbidden, "forbidden", stranger.do("GET", path, ""))
		h.wants(http.StatusForbidden, "forbidden", stranger.do("GET", path+"/status", ""))
		h.wants(http.StatusNotFound, "message_not_found", a.do("GET", "/v1/messages/msg_1_0", ""))

		raw := h.wants(http.StatusOK, "", b.do("GET", "/v1/messages", ""))
		if !strings.Contains(string(raw.Raw), `"body":`+body) {
			t.Errorf("the relay changed the body: %s", raw.Raw)
		}
		m := raw.Messages[0]
		if m.ID != got.MessageID || m.Sender != a.key() || m.Recipient != b.key() || m.ContentType != "text/x" || m.ThreadID != "t1" ||
			m.InReplyTo != "m0" || string(m.Metadata) != `{"k": "v"}` || m.Status != wire.Sent || m.ExpiresAt.Sub(m.CreatedAt) != wire.DefaultExpiry {
			t.Errorf("got %+v", m)
		}
		if again := b.poll(""); len(again) != 0 {
			t.Errorf("delivered again: %v, want none", again)
		}
		status := h.wants(http.StatusOK, "", a.do("GET", path+"/status", ""))
		if !strings.Contains(string(status.Raw), `"status":"delivered"`) || !strings.Contains(string(status.Raw), "delivered_at") {
			t.Errorf("got %s", status.Raw)
		}
		if list := b.poll("?status=delivered"); len(list) != 1 {
			t.Errorf("delivered: %v, want length 1", list)
		}
		if list := stranger.poll(""); len(list) != 0 {
			t.Errorf("another agent got %v", list)
		}
	})
}

func TestMessageForUnknownKey(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		a, unknown := h.agent().known(), h.agent()
		id := a.send(unknown, `1`)
		if got := ids(unknown.poll("")); !slices.Equal(got, []string{id}) {
			t.Errorf("got %v, want %+v", got, []string{id})
		}
		for range 3 {
			a.send(h.agent(), `1`)
		}
		absent := h.agent()
		for range 5 {
			a.send(absent, `1`)
		}
		h.wants(http.StatusInsufficientStorage, "insufficient_storage", a.do("POST", "/v1/messages", message(absent.key(), "1")))
	}, func(o *relay.Options) { o.Limits.Unknown = 5 })
}

func TestPollFilters(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		a, b, c := h.agent().known(), h.agent().known(), h.agent().known()
		one := a.send(c, `1`, `"thread_id":"x"`)
		two := b.send(c, `2`, `"in_reply_to":"`+one+`"`)
		three := a.send(c, `3`)
		for query, want := range map[string][]string{
			"?status=delivered": nil, "?status=expired": nil, "?in_reply_to=nothing": nil, "?thread_id=y": nil,
			"?sender_key=" + h.agent().key().String(): nil,
		} {
			if got := ids(c.poll(query)); !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", query, got, want)
			}
		}
		for _, step := range []struct {
			query string
			want  []string
		}{{"?thread_id=x", []string{one}}, {"?in_reply_to=" + one, []string{two}}, {"?sender_key=" + a.key().String(), []string{three}}} {
			if got := ids(c.poll(step.query)); !slices.Equal(got, step.want) {
				t.Errorf("%s: %v, want %v", step.query, got, step.want)
			}
		}
		for _, query := range []string{
			"?limit=0", "?limit=101", "?status=read", "?sender_key=x", "?wait=31", "?wait=-1", "?wait=x", "?cursor=!", "?thread_id=%00",
		} {
			h.wants(http.StatusBadRequest, "bad_request", c.do("GET", "/v1/messages"+query, ""))
		}
	})
}

func TestPollPages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		a, b := h.agent().known(), h.agent().known()
		var want []string
		for i := range 25 {
			want = append(want, a.send(b, fmt.Sprint(i)))
		}
		page := h.wants(http.StatusOK, "", b.do("GET", "/v1/messages?limit=10", ""))
		got := ids(page.Messages)
		for page.HasMore {
			page = h.wants(http.StatusOK, "", b.do("GET", "/v1/messages?limit=10&cursor="+*page.NextCursor, ""))
			got = append(got, ids(page.Messages)...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d messages, or in another order", len(got))
		}
	}, many)
}

func TestThreads(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		a, b, c := h.agent().known(), h.agent().known(), h.agent().known()
		root := a.send(b, `0`)
		thread := `"thread_id":"` + root + `"`
		first := b.send(a, `1`, thread)
		second := a.send(b, `2`, thread)
		a.send(c, `3`, thread) // between other agents
		list := func(of *agent) []string {
			return ids(h.wants(http.StatusOK, "", of.do("GET", "/v1/messages/threads/"+root, "")).Messages)
		}
		if got := list(b); !slices.Equal(got, []string{root, first, second}) {
			t.Errorf("%v, want %v", got, []string{root, first, second})
		}
		if got := list(c); len(got) != 1 {
			t.Errorf("got %v, want length 1", got)
		}
		if got := list(h.agent().known()); len(got) != 0 {
			t.Errorf("another agent got %v", got)
		}
		if got := b.poll(""); len(got) != 2 {
			t.Errorf("reading a thread delivered its messages: %v", ids(got))
		}
	}, many)
}

func TestRepeatedSend(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		a, b := h.agent().known(), h.agent().known()
		key := `"idempotency_key":"k"`
		first := h.wants(http.StatusAccepted, "", a.do("POST", "/v1/messages", message(b.key(), "1", key)))
		again := h.wants(http.StatusOK, "", a.do("POST", "/v1/messages", message(b.key(), "1", key)))
		if string(first.Raw) != string(again.Raw) {
			t.Errorf("%s, then %s", first.Raw, again.Raw)
		}
		h.wants(http.StatusConflict, "bad_request", a.do("POST", "/v1/messages", message(b.key(), "2", key)))
		h.wants(http.StatusAccepted, "", b.do("POST", "/v1/messages", message(b.key(), "1", key)))
		if got := b.poll(""); len(got) != 2 {
			t.Errorf("got %v", ids(got))
		}
	})
}

func TestMessagesExpire(t *testing.T) {
	t.Parallel()
	h := newHost(t, "")
	a, b := h.agent().known(), h.agent().known()
	missed := a.send(b, `1`, `"expires_in":60`)
	got := a.send(b, `2`, `"expires_in":3600`)
	h.pass(61 * time.Second)
	if list := ids(b.poll("")); !slices.Equal(list, []string{got}) {
		t.Errorf("got %v, want %+v", list, []string{got})
	}
	if status := a.do("GET", "/v1/messages/"+missed+"/status", ""); !strings.Contains(string(status.Raw), `"status":"expired"`) {
		t.Errorf("got %s", status.Raw)
	}
	if list := ids(b.poll("?status=expired")); !slices.Equal(list, []string{missed}) {
		t.Errorf("got %v, want %+v", list, []string{missed})
	}
	for _, seconds := range []string{"0", "2592001", "-1"} {
		h.wants(http.StatusBadRequest, "bad_request", a.do("POST", "/v1/messages", message(b.key(), "1", `"expires_in":`+seconds)))
	}
}

// A waiting poll returns as soon as there is a message, even if another process has accepted it.
func TestLongPolls(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		from := h
		if h.clock == nil {
			from = newHost(t, h.place)
		}
		a, b := from.agent().known(), h.agent().known()
		got := make(chan []wire.Message)
		go func() { got <- b.poll("?wait=30") }()
		h.eventually("it waits", func() bool { return h.relay.Waiting(b.key()) == 1 })
		id := a.send(b, `1`)
		if list := ids(<-got); !slices.Equal(list, []string{id}) {
			t.Errorf("got %v, want %+v", list, []string{id})
		}
	})
}

func TestLongPollsAreBounded(t *testing.T) {
	t.Parallel()
	h := newHost(t, "", func(o *relay.Options) { o.Limits.Waiters = 1 })
	a, b := h.agent().known(), h.agent().known()
	answers := make(chan answer, 2)
	var polls sync.WaitGroup
	for range 2 {
		r := b.request("GET", "/v1/messages?wait=30", "")
		polls.Go(func() { answers <- h.sent(r) })
	}
	if first := <-answers; first.code() != "rate_limit_exceeded" {
		t.Errorf("got %s", first.Raw)
	}
	a.send(b, `1`)
	polls.Wait()
	if second := <-answers; len(second.Messages) != 1 {
		t.Errorf("got %s", second.Raw)
	}
}

// A relay that shuts down ends waiting polls, and completes requests in progress.
func TestShutdown(t *testing.T) {
	t.Parallel()
	h := newHost(t, "")
	b := h.agent().known()
	got := make(chan answer)
	r := b.request("GET", "/v1/messages?wait=30", "")
	go func() { got <- h.sent(r) }()
	h.eventually("it waits", func() bool { return h.relay.Waiting(b.key()) == 1 })
	h.stop()
	if a := <-got; a.Status != http.StatusOK || len(a.Messages) != 0 {
		t.Errorf("got %d %s", a.Status, a.Raw)
	}
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		a, b, c := h.agent().known(), h.agent().known(), h.agent().known()
		blob := h.wants(http.StatusCreated, "", a.do("POST", "/v1/blobs", "bytes", "Content-Type", "text/plain"))
		attach := func(id string) string {
			return `"attachments":[{"blob_id":"` + id + `","filename":"f.txt","size":99,"hash":"lie"}]`
		}
		a.send(b, `1`, attach(blob.BlobID))
		m := b.poll("")[0]
		if len(m.Attachments) != 1 || m.Attachments[0] != (wire.Attachment{
			BlobID: blob.BlobID, Filename: "f.txt", ContentType: "text/plain", Size: 5, Hash: blob.Hash,
		}) {
			t.Errorf("got %+v", m.Attachments)
		}
		if got := h.wants(http.StatusOK, "", b.do("GET", "/v1/blobs/"+blob.BlobID, "")); string(got.Raw) != "bytes" {
			t.Errorf("got %q", got.Raw)
		}
		h.wants(http.StatusForbidden, "forbidden", c.do("GET", "/v1/blobs/"+blob.BlobID, ""))
		h.wants(http.StatusUnprocessableEntity, "unprocessable_entity", c.do("POST", "/v1/messages", message(b.key(), "1", attach(blob.BlobID))))
		h.wants(http.StatusUnprocessableEntity, "unprocessable_entity", a.do("POST", "/v1/messages", message(b.key(), "1", attach("blob_0"))))
		h.wants(http.StatusConflict, "blob_referenced", a.do("DELETE", "/v1/blobs/"+blob.BlobID, ""))
		b.send(c, `1`, attach(blob.BlobID)) // any agent that can read a blob may attach it
		h.wants(http.StatusOK, "", c.do("GET", "/v1/blobs/"+blob.BlobID, ""))
		h.wants(http.StatusUnprocessableEntity, "unprocessable_entity",
			a.do("POST", "/v1/messages", message(b.key(), "1", `"attachments":[`+strings.Repeat(`"b",`, 10)+`"b"]`)))
	})
}

// Many agents send to one agent: each accepted message arrives once, in the order of acceptance.
func TestConcurrentSends(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		b := h.agent().known()
		var mu sync.Mutex
		taken := map[string]bool{}
		var senders sync.WaitGroup
		for range 16 {
			a := h.agent().known()
			senders.Go(func() {
				for i := range 10 {
					id := a.send(b, fmt.Sprint(i))
					mu.Lock()
					taken[id] = true
					mu.Unlock()
				}
			})
		}
		over := make(chan struct{})
		go func() { senders.Wait(); close(over) }()
		got := map[string]bool{}
		for last := false; ; {
			list := b.poll("?limit=7")
			for _, m := range list {
				if got[m.ID] {
					t.Errorf("%s was delivered twice", m.ID)
				}
				got[m.ID] = true
			}
			if len(list) == 0 && last {
				break
			}
			select {
			case <-over:
				last = true
			default:
			}
		}
		if len(got) != len(taken) || len(got) != 160 {
			t.Errorf("%d were accepted, %d delivered", len(taken), len(got))
		}
	}, many)
}

func TestDescriptionHasAllRoutes(t *testing.T) {
	t.Parallel()
	h := newHost(t, "")
	var described struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	h.must(json.Unmarshal(h.sent(h.request("GET", "/v1/openapi.json", "")).Raw, &described))
	a := h.agent().known()
	for path, methods := range described.Paths {
		path = strings.NewReplacer("{key}", a.key().String(), "{peer}", a.key().String(), "{id}", "x", "{thread}", "x").Replace(path)
		for _, method := range []string{"get", "put", "post", "patch", "delete"} {
			_, there := methods[method]
			got := a.do(strings.ToUpper(method), path, "{}")
			if there == (got.Status == http.StatusMethodNotAllowed) || got.code() == "not_found" && got.Error.Message != "not found" {
				t.Errorf("%s %s: %d %s", method, path, got.Status, got.Raw)
			}
		}
	}
}
