package client_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/fetch"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	mrp "github.com/uimgate/uimgate/internal/wire/mrp/client"
)

const profileA = `{"public_key":"A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg","display_name":null,"status":"active","visibility":"private",` +
	`"inbox_policy":"blocklist","metadata":{},"capabilities":[],"created_at":"2026-03-05T12:00:00Z","last_active_at":"2026-03-05T12:00:00Z"}`

func TestOptions(t *testing.T) {
	for name, o := range map[string]mrp.Options{
		"no key": {Relay: "https://a.example"}, "no relay": {Key: a}, "no URL": {Key: a, Relay: "::"}, "no https": {Key: a, Relay: "http://a.example"},
		"a private address": {Key: a, Relay: "https://10.0.0.1"}, "a query": {Key: a, Relay: "https://a.example?x=1"},
		"a password": {Key: a, Relay: "https://a:b@a.example"}, "a negative wait": {Key: a, Relay: "https://a.example", MaxWait: -1},
	} {
		if _, err := mrp.New(o); !errors.Is(err, mrp.ErrOptions) {
			t.Errorf("%s: %v, want %v", name, err, mrp.ErrOptions)
		}
	}
	c, err := mrp.New(mrp.Options{Key: a, Relay: "https://a.example/relay/"})
	if err != nil || c.Relay() != "https://a.example/relay" || c.Key() != keyA {
		t.Errorf("got %v, %v", c, err)
	}
}

func TestRetries(t *testing.T) {
	t.Parallel()
	refusal := func(code wire.Code, status int) http.HandlerFunc {
		return says(status, `{"error":{"code":%q,"message":"no","request_id":"req_1","details":{"limit":30}}}`, code)
	}
	hang := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for name, c := range map[string]struct {
		first    http.HandlerFunc // answers the first request, or all if always is set
		always   bool
		requests int
		code     wire.Code // "": the request succeeds in the end
	}{
		"a limit":              {refusal(wire.RateLimited, 429), false, 2, ""},
		"an error":             {refusal(wire.Internal, 500), false, 2, ""},
		"a draining relay":     {refusal(wire.Internal, 503), false, 2, ""},
		"a proxy's page":       {says(502, "<html>"), false, 2, ""},
		"a cut connection":     {hang, false, 2, ""},
		"a replay":             {refusal(wire.ReplayDetected, 409), false, 2, ""},
		"a relay that is down": {refusal(wire.Internal, 503), true, 4, wire.Internal},
		"replays":              {refusal(wire.ReplayDetected, 409), true, 2, wire.ReplayDetected},
		"another conflict":     {refusal(wire.BlobReferenced, 409), false, 1, wire.BlobReferenced},
		"a bad request":        {refusal(wire.BadRequest, 400), false, 1, wire.BadRequest},
		"a refused signature":  {refusal(wire.InvalidSignature, 401), false, 1, wire.InvalidSignature},
		"a refused sender":     {refusal(wire.ACLDenied, 403), false, 1, wire.ACLDenied},
		"no such agent":        {refusal(wire.AgentNotFound, 404), false, 1, wire.AgentNotFound},
		"a full relay":         {refusal(wire.NoRoom, 507), false, 1, wire.NoRoom},
		"an unknown code":      {refusal("payment_required", 402), false, 1, "payment_required"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			s := stubRelay(t, map[string]http.HandlerFunc{"GET /v1/agents/{key}": func(w http.ResponseWriter, r *http.Request) {
				if requests.Add(1) == 1 || c.always {
					c.first(w, r)
					return
				}
				says(200, profileA)(w, r)
			}})
			p, err := client(t, s).Profile(t.Context(), keyA)
			refused, _ := errors.AsType[*wire.Error](err)
			switch {
			case c.code == "" && (err != nil || p.PublicKey != keyA):
				t.Error(err)
			case c.code != "" && (refused == nil || refused.Code != c.code || refused.RequestID != "req_1" || refused.Details["limit"] == nil):
				t.Errorf("got %v", err)
			}
			if n := int(requests.Load()); n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
		})
	}
}

func TestRelayClock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		off  time.Duration
		good bool
	}{"twenty minutes": {20 * time.Minute, true}, "twenty minutes behind": {-20 * time.Minute, true}, "two hours": {2 * time.Hour, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := func() time.Time { return time.Now().Add(c.off) }
			s := stubRelay(t, map[string]http.HandlerFunc{"GET /v1/agents/{key}": func(w http.ResponseWriter, r *http.Request) {
				auth, _ := wire.ReadAuth(r.Header)
				w.Header().Set("Date", now().UTC().Format(http.TimeFormat))
				if refused := auth.InTime(now(), wire.Tolerance); refused != nil {
					refuse(w, refused)
					return
				}
				says(200, profileA)(w, r)
			}})
			cl := client(t, s)
			for range 2 {
				_, err := cl.Profile(t.Context(), keyA)
				if refused, ok := errors.AsType[*wire.Error](err); (err == nil) != c.good || !c.good && (!ok || refused.Code != wire.TimestampExpired) {
					t.Error(err)
				}
			}
			if want := map[bool]int{true: 3, false: 2}[c.good]; len(s.times) != want {
				t.Errorf("%d requests, want %d", len(s.times), want)
			}
		})
	}
}

func TestSignaturesDiffer(t *testing.T) {
	at := time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)
	s := stubRelay(t, map[string]http.HandlerFunc{"GET /v1/agents/{key}": says(200, profileA)})
	c := client(t, s, func(o *mrp.Options) { o.Now, o.Attempts = func() time.Time { return at }, 1 })
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			if _, err := c.Profile(t.Context(), keyA); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	slices.Sort(s.times)
	if len(slices.Compact(s.times)) != 50 {
		t.Error(s.times)
	}
}

// The client repeats a message under the same idempotency key, and sends the next message under another.
func TestRetriedSendKeepsItsKey(t *testing.T) {
	var mu sync.Mutex
	var keys []string
	s := stubRelay(t, map[string]http.HandlerFunc{"POST /v1/messages": func(w http.ResponseWriter, r *http.Request) {
		var sent wire.Send
		if json.NewDecoder(r.Body).Decode(&sent) != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if keys = append(keys, sent.IdempotencyKey); len(keys) == 1 {
			panic(http.ErrAbortHandler)
		}
		says(202, `{"message_id":"msg_1","status":"sent","created_at":"2026-03-05T12:00:00Z","expires_at":"2026-03-12T12:00:00Z","new":1}`)(w, r)
	}})
	c := client(t, s)
	for range 2 {
		r, err := c.Send(t.Context(), wire.Send{Recipient: keyB, Body: []byte(`{}`)})
		if err != nil || r.MessageID != "msg_1" || r.Status != wire.Sent {
			t.Fatalf("got %+v, %v; want no error, MessageID %q and Status %v", r, err, "msg_1", wire.Sent)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(keys) != 3 || keys[0] == "" || keys[0] != keys[1] || keys[1] == keys[2] {
		t.Error(keys)
	}
}

func TestInvalidRequests(t *testing.T) {
	s := stubRelay(t, map[string]http.HandlerFunc{"/": func(http.ResponseWriter, *http.Request) { t.Error("the request was sent") }})
	c := client(t, s)
	send := func(m wire.Send) error { _, err := c.Send(t.Context(), m); return err }
	_, message := c.Message(t.Context(), "threads")
	_, status := c.Status(t.Context(), "..")
	_, thread := c.Thread(t.Context(), "", mrp.Filter{})
	_, blob := c.BlobInfo(t.Context(), "a\nb")
	for name, err := range map[string]error{
		"nothing": send(wire.Send{Recipient: keyB}), "not JSON": send(wire.Send{Recipient: keyB, Body: []byte("{")}),
		"too much": send(wire.Send{Recipient: keyB, Body: []byte(`"` + strings.Repeat("x", wire.MaxBody) + `"`)}),
		"an id":    message, "dots": status, "no thread": thread, "a line feed": blob,
	} {
		if !errors.Is(err, mrp.ErrOptions) {
			t.Errorf("%s: %v, want %v", name, err, mrp.ErrOptions)
		}
	}
}

func TestInvalidResponses(t *testing.T) {
	t.Parallel()
	other := strings.Replace(profileA, keyA.String(), keyB.String(), 1)
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   error
	}{
		"nothing":                  {says(200, ""), mrp.ErrAnswer},
		"a page":                   {says(200, "<html>"), mrp.ErrAnswer},
		"a list":                   {says(200, "[]"), mrp.ErrAnswer},
		"a page for an error":      {says(404, "<html>"), mrp.ErrAnswer},
		"an error without a code":  {says(404, `{"error":"x"}`), mrp.ErrAnswer},
		"an invalid code":          {says(404, `{"error":{"code":"\u001b[31m"}}`), mrp.ErrAnswer},
		"another agent":            {says(200, "%s", other), mrp.ErrAnswer},
		"a name with escape codes": {says(200, "%s", strings.Replace(profileA, "null", `"\u001b[31m"`, 1)), mrp.ErrAnswer},
		"too many levels":          {says(200, "%s", strings.Replace(profileA, "null", strings.Repeat("[", 20_000), 1)), mrp.ErrAnswer},
		"too much":                 {says(200, "%s", strings.Repeat(" ", 2<<20)), fetch.ErrTooLarge},
		"a redirect":               {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/v1/health", http.StatusFound) }, mrp.ErrAnswer},
		"a compressed response": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write([]byte("x"))
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stubRelay(t, map[string]http.HandlerFunc{"GET /v1/agents/{key}": c.answer})
			p, err := client(t, s, func(o *mrp.Options) { o.Attempts = 1 }).Profile(t.Context(), keyA)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !p.CreatedAt.IsZero() {
				t.Errorf("got %+v, %v", p, err)
			}
		})
	}
}

func TestErrorTextsCanBeShown(t *testing.T) {
	s := stubRelay(t, map[string]http.HandlerFunc{"GET /v1/agents/{key}": says(400, `{"error":{"code":"bad_request","message":"a\u001b[31m\nb%s"}}`,
		strings.Repeat("é", 4000))})
	_, err := client(t, s).Profile(t.Context(), keyA)
	if err == nil || !wire.Shown(err.Error()) || len([]rune(err.Error())) > 600 || !strings.Contains(err.Error(), "a [31m b") {
		t.Error(err)
	}
}
