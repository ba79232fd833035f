package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/internal/fetch"
	agenttest "github.com/uimgate/uimgate/internal/test/agent"
)

func failure(status int, reason, outcome string, header ...string) agenttest.Reply {
	details := map[string]string{}
	if reason != "" {
		details["reason"] = reason
	}
	if outcome != "" {
		details["outcome"] = outcome
	}
	body, _ := json.Marshal(map[string]any{"error": map[string]any{"code": "X", "message": "m", "details": details}})
	r := agenttest.Reply{Status: status, Body: string(body), Header: map[string]string{}}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header[header[i]] = header[i+1]
	}
	return r
}

func TestRetries(t *testing.T) {
	t.Parallel()
	broken := agenttest.Reply{Break: true}
	own := agent.ExecuteOptions{IdempotencyKey: "mine"}
	backoff := []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second}
	refused := func(status int, reason, outcome string, header ...string) []agenttest.Reply {
		return []agenttest.Reply{failure(status, reason, outcome, header...)}
	}
	for _, tt := range []struct {
		name    string
		uid     string
		options agent.ExecuteOptions
		replies []agenttest.Reply
		calls   int
		waits   []time.Duration
		keys    int // different idempotency keys among the calls
		err     error
	}{
		{
			name: "429 waits as long as Retry-After", uid: agenttest.Search,
			replies: refused(429, "RATE_LIMIT_EXCEEDED", "", "Retry-After", "3"), calls: 2, waits: []time.Duration{3 * time.Second},
		},
		{
			name: "503 without Retry-After backs off", uid: agenttest.Search,
			replies: slices.Repeat(refused(503, "", ""), 3), calls: 4, waits: backoff,
		},
		{
			name: "at most four attempts", uid: agenttest.Search,
			replies: slices.Repeat(refused(503, "STORE_UNAVAILABLE", ""), 9), calls: 4, waits: backoff, err: agent.ErrStoreUnavailable,
		},
		{
			name: "no wait beyond MaxWait", uid: agenttest.Search,
			replies: refused(429, "RATE_LIMIT_EXCEEDED", "", "Retry-After", "31"), calls: 1, err: agent.ErrRateLimitExceeded,
		},
		{
			name: "MaxWait limits the sum of the waits", uid: agenttest.Search,
			replies: slices.Repeat(refused(429, "", "", "Retry-After", "20"), 2),
			calls:   2, waits: []time.Duration{20 * time.Second}, err: agent.ErrTooManyRequests,
		},
		{
			name: "a lifetime quota is not retried", uid: agenttest.Search,
			replies: refused(429, "QUOTA_EXCEEDED", ""), calls: 1, err: agent.ErrQuotaExceeded,
		},
		{
			name: "not sent, under the client's key: another key", uid: agenttest.Order,
			replies: refused(502, "UPSTREAM_UNREACHABLE", "not_sent"), calls: 2, waits: backoff[:1], keys: 2,
		},
		{
			name: "not sent, under the caller's key: the caller decides", uid: agenttest.Order, options: own,
			replies: refused(502, "UPSTREAM_UNREACHABLE", "not_sent"), calls: 1, keys: 1, err: agent.ErrUpstreamUnreachable,
		},
		{
			name: "not sent, no key", uid: agenttest.Search,
			replies: refused(502, "UPSTREAM_UNREACHABLE", "not_sent"), calls: 2, waits: backoff[:1],
		},
		{
			name: "failed is not retried", uid: agenttest.Order,
			replies: refused(502, "UPSTREAM_ERROR", "failed"), calls: 1, keys: 1, err: agent.ErrUpstreamError,
		},
		{
			name: "failed with 503 is retried", uid: agenttest.Order,
			replies: refused(503, "UPSTREAM_BUSY", "failed", "Retry-After", "2"), calls: 2, keys: 2, waits: []time.Duration{2 * time.Second},
		},
		{
			name: "done is never repeated", uid: agenttest.Order,
			replies: refused(502, "RESPONSE_INVALID", "done"), calls: 1, keys: 1, err: agent.ErrResponseInvalid,
		},
		{
			name: "unknown is never repeated", uid: agenttest.Order,
			replies: refused(504, "UPSTREAM_TIMEOUT", "unknown"), calls: 1, keys: 1, err: agent.ErrUpstreamTimeout,
		},
		{name: "500 without an outcome, no key", uid: agenttest.Search, replies: refused(500, "", ""), calls: 1, err: &agent.Error{}},
		{
			name: "500 without an outcome, under a key", uid: agenttest.Order,
			replies: refused(500, "", ""), calls: 2, keys: 1, waits: backoff[:1],
		},
		{
			name: "a replayed response is final", uid: agenttest.Order, options: own,
			replies: refused(503, "UPSTREAM_BUSY", "", "Idempotency-Replayed", "true"), calls: 1, keys: 1, err: agent.ErrUnavailable,
		},
		{
			name: "connection closed, no key", uid: agenttest.Search,
			replies: []agenttest.Reply{broken}, calls: 1, err: &fetch.Error{},
		},
		{
			name: "a call in progress is awaited under the caller's key", uid: agenttest.Order, options: own,
			replies: slices.Repeat(refused(409, "IDEMPOTENCY_IN_PROGRESS", "", "Retry-After", "2"), 6),
			calls:   7, keys: 1, waits: slices.Repeat([]time.Duration{2 * time.Second}, 6),
		},
		{
			name: "a call in progress is awaited for MaxWait", uid: agenttest.Order, options: own,
			replies: slices.Repeat(refused(409, "IDEMPOTENCY_IN_PROGRESS", "", "Retry-After", "20"), 3),
			calls:   2, keys: 1, waits: []time.Duration{20 * time.Second}, err: agent.ErrIdempotencyInProgress,
		},
		{
			name: "an unknown outcome is not awaited", uid: agenttest.Order, options: own,
			replies: refused(409, "OUTCOME_UNKNOWN", "", "Retry-After", "5"), calls: 1, keys: 1, err: agent.ErrOutcomeUnknown,
		},
		{
			name: "400 is not retried", uid: agenttest.Order,
			replies: refused(400, "INVALID_PARAMETER", ""), calls: 1, keys: 1, err: agent.ErrInvalidParameter,
		},
		{
			name: "NoRepeat", uid: agenttest.Search, options: agent.ExecuteOptions{NoRepeat: true},
			replies: refused(503, "", ""), calls: 1, err: agent.ErrUnavailable,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			shop := agenttest.New(t, agenttest.Canonical)
			w := &waits{}
			o := options(t, shop)
			o.Sleep = w.sleep
			s := agreed(t, o, shop.URL)
			shop.Script(tt.replies...)
			_, err := s.Execute(t.Context(), tt.uid, map[string]any{"query": "tea"}, tt.options)
			switch tt.err.(type) { //nolint:errorlint // the table states the kind of error, not the error
			case nil:
				if err != nil {
					t.Error(err)
				}
			case *agent.Error:
				_ = refusal(t, err)
			case *fetch.Error:
				if got, ok := errors.AsType[*fetch.Error](err); !ok || !got.Sent {
					t.Errorf("err = %v, want a *fetch.Error with Sent set", err)
				}
			default:
				wantErr(t, err, tt.err)
			}
			calls := shop.Calls()
			if len(calls) != tt.calls {
				t.Errorf("%d calls, want %d", len(calls), tt.calls)
			}
			if diff := cmp.Diff(tt.waits, w.all()); diff != "" && len(tt.waits)+len(w.all()) > 0 {
				t.Error(diff)
			}
			seen := map[string]bool{}
			for _, c := range calls {
				if c.IdempotencyKey != "" {
					seen[c.IdempotencyKey] = true
				}
			}
			if len(seen) != tt.keys {
				t.Errorf("%d idempotency keys, want %d", len(seen), tt.keys)
			}
		})
	}
}

func TestRetryAfterLostResponseIsReplayed(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	s := agreed(t, options(t, shop), shop.URL)
	shop.Script(agenttest.Reply{Break: true})
	r, err := s.Execute(t.Context(), agenttest.Order, map[string]any{"query": "tea"}, agent.ExecuteOptions{Prove: true})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Replayed || cmp.Diff(map[string]any{"echo": map[string]any{"query": "tea"}}, r.Output) != "" {
		t.Errorf("got %+v", r)
	}
}

// The client repeats a call whose response was lost under the same key, whatever the service answers in between. Another key would
// execute the call twice.
func TestKeyIsKeptAfterLostResponse(t *testing.T) {
	t.Parallel()
	broken := agenttest.Reply{Break: true}
	unsent := failure(503, "BREAKER_OPEN", "not_sent")
	shop := agenttest.New(t, agenttest.Canonical)
	s := agreed(t, options(t, shop), shop.URL)
	shop.Script(broken, unsent)
	r, err := s.Execute(t.Context(), agenttest.Order, map[string]any{"query": "tea"}, agent.ExecuteOptions{})
	if err != nil || !r.Replayed {
		t.Errorf("%+v, %v; want the answer of the call that was made", r, err)
	}
	if calls := shop.Calls(); len(calls) != 3 || calls[0].IdempotencyKey != calls[2].IdempotencyKey {
		t.Errorf("%d calls, not all under one key", len(calls))
	}
}

// A refusal does not prove that an earlier attempt with a lost response failed, unless it is the response stored under the key.
func TestRefusalAfterLostResponseIsALostError(t *testing.T) {
	t.Parallel()
	broken := agenttest.Reply{Break: true}
	for name, tt := range map[string]struct {
		replies []agenttest.Reply
		lost    bool
	}{
		"refused for another reason":  {[]agenttest.Reply{broken, failure(403, "AGENT_BLOCKED", "")}, true},
		"an error without an outcome": {[]agenttest.Reply{failure(500, "", ""), failure(403, "AGENT_BLOCKED", "")}, true},
		"the stored response":         {[]agenttest.Reply{broken, failure(502, "UPSTREAM_ERROR", "failed", "Idempotency-Replayed", "true")}, false},
		"nothing was lost":            {[]agenttest.Reply{failure(403, "AGENT_BLOCKED", "")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop := agenttest.New(t, agenttest.Canonical)
			s := agreed(t, options(t, shop), shop.URL)
			shop.Script(tt.replies...)
			_, err := s.Execute(t.Context(), agenttest.Order, map[string]any{"query": "tea"}, agent.ExecuteOptions{})
			_ = refusal(t, err)
			if _, lost := errors.AsType[*agent.LostError](err); lost != tt.lost {
				t.Errorf("%v: lost = %v, want %v", err, lost, tt.lost)
			}
		})
	}
}

// With Keyed, the client sends an idempotency key with every call, so it can repeat the call.
func TestKeyedCallOfFreeIntent(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	s := agreed(t, options(t, shop), shop.URL)
	shop.Script(agenttest.Reply{Break: true})
	r, err := s.Execute(t.Context(), agenttest.Search, map[string]any{"query": "tea"}, agent.ExecuteOptions{Keyed: true})
	if err != nil || !r.Replayed {
		t.Errorf("got %+v, %v", r, err)
	}
	for _, c := range shop.Calls() {
		if c.IdempotencyKey == "" || !c.Proved {
			t.Errorf("key %q, proved %v", c.IdempotencyKey, c.Proved)
		}
	}
}

func TestNoRetryUnderGeneratedKeyIfItMayBeIgnored(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]int{"": 1, "the-caller-knows": 2} {
		shop := agenttest.New(t, agenttest.Mock)
		o := options(t, shop)
		o.AllowStatic = true
		s := agreed(t, o, shop.URL)
		shop.Script(agenttest.Reply{Break: true})
		_, err := s.Execute(t.Context(), agenttest.Search, map[string]any{"query": "tea"}, agent.ExecuteOptions{IdempotencyKey: key})
		if calls := shop.Calls(); len(calls) != want || calls[0].IdempotencyKey == "" || (err == nil) != (key != "") {
			t.Errorf("%q: %d calls, %v", key, len(calls), err)
		}
	}
}

func TestProofIsAddedOnRequestOrForUnsafeIntents(t *testing.T) {
	t.Parallel()
	for uid, tt := range map[string]struct {
		replies []agenttest.Reply
		want    []bool
	}{
		agenttest.Order:  {nil, []bool{true, true}},
		agenttest.Search: {[]agenttest.Reply{failure(403, "POLICY_REQUIRES_VERIFICATION", "")}, []bool{false, true, true}},
	} {
		shop := agenttest.New(t, agenttest.Canonical)
		s := agreed(t, options(t, shop), shop.URL)
		shop.Script(tt.replies...)
		for range 2 {
			if _, err := s.Execute(t.Context(), uid, nil, agent.ExecuteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		var proved []bool
		for _, c := range shop.Calls() {
			proved = append(proved, c.Proved)
		}
		if diff := cmp.Diff(tt.want, proved); diff != "" {
			t.Errorf("%s: %s", uid, diff)
		}
	}
}

func TestProofIsTriedOnce(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	s := agreed(t, options(t, shop), shop.URL)
	no := failure(403, "POLICY_REQUIRES_VERIFICATION", "")
	shop.Script(no, no, no)
	_, err := s.Execute(t.Context(), agenttest.Search, nil, agent.ExecuteOptions{})
	wantErr(t, err, agent.ErrVerificationRequired)
	if n := len(shop.Calls()); n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
}

func TestNoGeneratedKeyForInexactNumbers(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	s := agreed(t, options(t, shop), shop.URL)
	long := map[string]any{"limit": json.Number("12345678901234567890123")}
	_, err := s.Execute(t.Context(), agenttest.Order, long, agent.ExecuteOptions{Prove: true})
	wantErr(t, err, agent.ErrParameters)
	var sent []string
	shop.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = append(sent, r.Header.Get("Idempotency-Key")+string(body))
		_, _ = w.Write([]byte(`{"ok":12345678901234567890123}`))
	})
	r, err := s.Execute(t.Context(), agenttest.Order, long, agent.ExecuteOptions{})
	if err != nil || cmp.Diff(map[string]any{"ok": long["limit"]}, r.Output) != "" {
		t.Errorf("got %v, %v", r.Output, err)
	}
	want := []string{`{"intent_uid":"` + agenttest.Order + `","parameters":{"limit":12345678901234567890123}}`}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Error("sent with a key, or not as it was given:", diff)
	}
}

func TestFailedConnectionsAreRetried(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := options(t, shop)
	w := &waits{}
	o.Sleep = w.sleep
	session := agreed(t, o, shop.URL).Session()
	shop.Close()
	s, err := clientOf(t, o).Resume(session) // without idle connections
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Execute(t.Context(), agenttest.Search, nil, agent.ExecuteOptions{})
	if broken, ok := errors.AsType[*fetch.Error](err); !ok || broken.Sent {
		t.Fatalf("err = %v, want a *fetch.Error with Sent unset", err)
	}
	if n := len(w.all()); n != 3 {
		t.Errorf("%d waits, want 3", n)
	}
}

func TestCancelEndsTheWait(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := options(t, shop)
	ctx, cancel := context.WithCancel(t.Context())
	o.Sleep = func(ctx context.Context, _ time.Duration) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	s := agreed(t, o, shop.URL)
	shop.Script(failure(503, "STORE_UNAVAILABLE", ""))
	_, err := s.Execute(ctx, agenttest.Search, nil, agent.ExecuteOptions{})
	wantErr(t, err, context.Canceled)
	wantErr(t, err, agent.ErrStoreUnavailable)
	if n := len(shop.Calls()); n != 1 {
		t.Errorf("got %d calls, want 1", n)
	}
}

func TestInvalidExecuteOptions(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	s := agreed(t, options(t, shop), shop.URL)
	for name, o := range map[string]agent.ExecuteOptions{
		"key with a space": {IdempotencyKey: "a b"}, "key with a line break": {IdempotencyKey: "a\nb"},
		"request id": {RequestID: "a/b"}, "trace": {Traceparent: "00\r\nx"},
	} {
		if _, err := s.Execute(t.Context(), agenttest.Search, nil, o); !errors.Is(err, agent.ErrParameters) {
			t.Errorf("%s: %v, want %v", name, err, agent.ErrParameters)
		}
	}
	_, err := s.Execute(t.Context(), agenttest.Search, map[string]any{"f": func() {}}, agent.ExecuteOptions{})
	wantErr(t, err, agent.ErrParameters)
	if n := len(shop.Calls()); n != 0 {
		t.Errorf("got %d calls, want 0", n)
	}
}

func TestResponseFormats(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, header, body string
		want               any
		err                error
	}{
		{name: "bare", body: `{"a":1}`, want: map[string]any{"a": json.Number("1")}},
		{
			name: "bare, with outputs of the envelope's names", body: `{"status":"success","data":1,"total":2}`,
			want: map[string]any{"status": "success", "data": json.Number("1"), "total": json.Number("2")},
		},
		{name: "envelope", body: `{"status":"success","data":{"a":1},"meta":{}}`, want: map[string]any{"a": json.Number("1")}},
		{
			name: "envelope, by its type", header: "application/uim+json", body: `{"status":"success","data":[1],"more":2}`,
			want: []any{json.Number("1")},
		},
		{name: "a list", body: `[1]`, want: []any{json.Number("1")}},
		{name: "nothing", body: ``, want: map[string]any{}},
		{name: "an error in an envelope", body: `{"status":"error","error":{"code":"NOT_FOUND","message":"m"}}`, err: agent.ErrNotFound},
		{name: "a page", header: "text/html", body: `<p>`, err: agent.ErrAnswer},
		{name: "not JSON", body: `{"a":`, err: agent.ErrAnswer},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := http.Header{}
			if tt.header != "" {
				h.Set("Content-Type", tt.header)
			}
			r, err := agent.ReadResult(fetch.Answer{Status: 200, Header: h, Body: []byte(tt.body)})
			if tt.err != nil {
				wantErr(t, err, tt.err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, r.Output); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestErrorFormats(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ kind, body, code, message string }{
		"core":    {"", `{"error":{"code":"C","message":"m"}}`, "C", "m"},
		"text":    {"", `{"error":"m"}`, "", "m"},
		"fastapi": {"", `{"detail":"m"}`, "", "m"},
		"detail":  {"", `{"detail":{"code":"C","message":"m"}}`, "C", "m"},
		"problem": {"application/problem+json", `{"title":"t","detail":"m"}`, "", "m"},
		"flat":    {"", `{"code":"C","message":"m"}`, "C", "m"},
		"html":    {"text/html", `{"error":{"code":"C"}}`, "", ""},
		"none":    {"", ``, "", ""},
	} {
		rec := httptest.NewRecorder()
		if tt.kind != "" {
			rec.Header().Set("Content-Type", tt.kind)
		}
		e := agent.ReadError(fetch.Answer{Status: 418, Header: rec.Header(), Body: []byte(tt.body)})
		if e.Status != 418 || e.Code != tt.code || e.Message != tt.message {
			t.Errorf("%s: got %+v; want Status 418, Code %v and Message %v", name, e, tt.code, tt.message)
		}
	}
}

func TestUnreadableResponseHasItsCharge(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	s := agreed(t, options(t, shop), shop.URL)
	header := map[string]string{"Content-Type": "text/html", "UIM-Charge": "0.01 USD; id=e-1; state=captured"}
	shop.Script(agenttest.Reply{Status: 200, Body: `<p>`, Header: header})
	_, err := s.Execute(t.Context(), agenttest.Order, nil, agent.ExecuteOptions{})
	wantErr(t, err, agent.ErrAnswer)
	if e := refusal(t, err); e.Charge == nil || e.Charge.ExecutionID != "e-1" || e.Outcome != "done" {
		t.Errorf("got %+v", e)
	}
	if n := len(shop.Calls()); n != 1 {
		t.Errorf("got %d calls, want 1", n)
	}
}
