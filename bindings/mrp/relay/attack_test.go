package relay_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
	"github.com/uimgate/uimgate/internal/limit"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// Only the canonical spelling of a key and of a signature is accepted, and extreme timestamps are handled.
func TestNoncanonicalKeysAndTimestamps(t *testing.T) {
	t.Parallel()
	h := newHost(t, "")
	a := h.agent().known()
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for _, header := range []string{"X-M2M-Public-Key", "X-M2M-Signature"} {
		for _, other := range []func(string) string{
			func(s string) string {
				return s[:len(s)-1] + string(letters[strings.IndexByte(letters, s[len(s)-1])^1])
			},
			func(s string) string { return s + "=" },
			func(s string) string { return s[:20] + "\t" + s[20:] },
			func(s string) string { return strings.NewReplacer("-", "+", "_", "/").Replace(s) + "=" },
		} {
			r := a.request("GET", a.path(), "")
			r.Header.Set(header, other(r.Header.Get(header)))
			h.wants(http.StatusUnauthorized, "unauthorized", h.sent(r))
		}
	}
	for _, text := range []string{
		"0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "1677-01-01T00:00:00Z", "2263-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z",
	} {
		at, err := time.Parse(time.RFC3339, text)
		h.must(err)
		r := a.host.request("GET", a.path(), "")
		wire.Sign(r.Header, a.private, at, "GET", a.path(), wire.Sum(nil))
		h.wants(http.StatusUnauthorized, "timestamp_expired", h.sent(r))
	}
}

// SQL and other syntax in a query is plain text, and a forged cursor does no harm.
func TestHostileQueries(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		a := h.agent().known()
		h.wants(http.StatusOK, "", a.do("PATCH", a.path(), `{"visibility":"public","display_name":"100% of_a\\b","capabilities":["c:x"]}`))
		for name, found := range map[string]int{
			"%": 1, "100%": 1, "_": 1, "f_a": 1, "fxa": 0, `a\b`: 1, `\`: 1, "'": 0, "' OR 1=1 --": 0, "%%": 0,
		} {
			got := h.wants(http.StatusOK, "", a.do("GET", "/v1/discover?name="+url.QueryEscape(name), ""))
			if len(got.Agents) != found {
				h.Errorf("name %q finds %d", name, len(got.Agents))
			}
		}
		for since, found := range map[string]int{"0000-01-01": 1, "0001-01-01": 1, "1500-01-01": 1, "2500-01-01": 0, "9999-12-31": 0} {
			got := h.wants(http.StatusOK, "", a.do("GET", "/v1/discover?active_since="+since, ""))
			if len(got.Agents) != found {
				h.Errorf("active since %s: %d", since, len(got.Agents))
			}
		}
		cursors := []string{"x", "e30", strings.Repeat("A", 600)}
		for _, document := range []string{
			`{"t":9223372036854775807,"i":"\u0000'"}`, `{"t":-9223372036854775808,"i":"\ud800"}`, `{"n":9223372036854775807,"t":"\u0000"}`,
			`{"n":-1,"t":"` + strings.Repeat("%", 200) + `"}`, `{"i":9223372036854775807}`, `{"i":-1}`, `null`, `[]`, `{"t":1e400}`,
		} {
			cursors = append(cursors, base64.RawURLEncoding.EncodeToString([]byte(document)))
		}
		for _, path := range []string{
			"/v1/messages?x=1", "/v1/messages/threads/t?x=1", "/v1/discover?x=1", "/v1/capabilities?x=1", a.path() + "/acl?x=1",
		} {
			for _, cursor := range cursors {
				if got := a.do("GET", path+"&cursor="+cursor, ""); got.Status != http.StatusOK && got.Status != http.StatusBadRequest {
					h.Errorf("%s %s: %d %s", path, cursor, got.Status, got.Raw)
				}
			}
		}
		for _, path := range []string{
			"/v1/messages/threads/%00", "/v1/messages/threads/%ff", "/v1/messages/%00", "/v1/messages/%ff%27", "/v1/messages/%00/status",
			"/v1/blobs/%00", "/v1/blobs/..%2f..%2fx", "/v1/agents/%00", "/v1/messages?thread_id=%ff", "/v1/messages?in_reply_to=%00",
			"/v1/discover?q=%00", "/v1/discover?tag=%ff", "/v1/discover?name=%e2%80%ae", "/v1/discover?%zz=1", "/v1/messages?limit=1e9",
		} {
			if got := a.do("GET", path, ""); got.Status >= http.StatusInternalServerError || got.Status == http.StatusForbidden {
				h.Errorf("%s: %d %s", path, got.Status, got.Raw)
			}
		}
	}, many)
}

// Texts for people contain no invisible characters; data for programs is returned unchanged.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		a := h.agent().known()
		for _, text := range []string{`\u0000`, `\u202e`, `\u2066`, `\u001b[2J`, `\r\n`, `\ud800`} {
			for _, body := range []string{
				`{"display_name":"x%s"}`, `{"capabilities":[{"name":"x%s","description":"","tags":[]}]}`,
				`{"capabilities":[{"name":"x","description":"x%s","tags":[]}]}`, `{"capabilities":[{"name":"x","description":"","tags":["x%s"]}]}`,
			} {
				if text == `\r\n` && strings.Contains(body, `"description":"x`) {
					continue // a description may have several lines
				}
				got := a.do("PATCH", a.path(), fmt.Sprintf(body, text))
				if got.Status != http.StatusUnprocessableEntity && got.Status != http.StatusBadRequest {
					h.Errorf("%s %s: %d", body, text, got.Status)
				}
			}
			for _, member := range []string{`"thread_id":"x%s"`, `"in_reply_to":"x%s"`, `"idempotency_key":"x%s"`, `"content_type":"text/x%s"`} {
				got := a.do("POST", "/v1/messages", message(a.key(), `1`, fmt.Sprintf(member, text)))
				if got.Status >= http.StatusInternalServerError {
					h.Errorf("%s %s: %d %s; want less than %v", member, text, got.Status, got.Raw, http.StatusInternalServerError)
				}
			}
		}
		a.poll("")
		const body = `{"a":"\u0000\ud800\u202e' -- %"}`
		if got := a.do("POST", "/v1/messages", message(a.key(), body)); got.Status == http.StatusAccepted {
			if page := a.do("GET", "/v1/messages", ""); !strings.Contains(string(page.Raw), body) {
				h.Errorf("got %s", page.Raw)
			}
		} else if got.Status != http.StatusBadRequest {
			h.Errorf("got %d %s; want %v", got.Status, got.Raw, http.StatusBadRequest)
		}
	}, many)
}

// A signature is accepted once, at whichever of two replicas it arrives first.
func TestOneRequestAtTwoReplicasAtOnce(t *testing.T) {
	t.Parallel()
	place := postgres(t)
	one, other := newHost(t, place, many), newHost(t, place, many)
	a := one.agent().known()
	for range 10 {
		body := message(a.key(), `1`)
		first := a.request("POST", "/v1/messages", body)
		second := other.request("POST", "/v1/messages", body)
		second.Header = first.Header.Clone()
		var accepted, refused atomic.Int64
		var both sync.WaitGroup
		for _, r := range []*http.Request{first, second} {
			both.Go(func() {
				switch got := one.sent(r); got.Status {
				case http.StatusAccepted:
					accepted.Add(1)
				case http.StatusConflict:
					refused.Add(1)
				default:
					t.Errorf("got %d %s", got.Status, got.Raw)
				}
			})
		}
		both.Wait()
		if accepted.Load() != 1 || refused.Load() != 1 {
			t.Errorf("%d accepted, %d refused", accepted.Load(), refused.Load())
		}
	}
}

// An address cannot exceed its limit of new agents with concurrent requests.
func TestConcurrentNewAgents(t *testing.T) {
	t.Parallel()
	h := newHost(t, "", func(o *relay.Options) { o.Limits.Newcomers = limit.Rate{Max: 5, Period: "hour"} })
	var made atomic.Int64
	var all sync.WaitGroup
	for range 60 {
		a := h.agent()
		r := a.request("GET", a.path(), "")
		all.Go(func() {
			switch got := h.sent(r); got.Status {
			case http.StatusOK:
				made.Add(1)
			case http.StatusTooManyRequests:
			default:
				t.Errorf("got %d %s", got.Status, got.Raw)
			}
		})
	}
	all.Wait()
	if made.Load() != 5 {
		t.Errorf("%d agents were made, want 5", made.Load())
	}
}

// Two concurrent changes both take effect, and searches find the agent by both.
func TestConcurrentChanges(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		a := h.agent().known()
		h.wants(http.StatusOK, "", a.do("PATCH", a.path(), `{"visibility":"public"}`))
		for n := range 10 {
			var both sync.WaitGroup
			for _, body := range []string{`{"display_name":"name%d"}`, `{"capabilities":["able%d"]}`} {
				r := a.request("PATCH", a.path(), fmt.Sprintf(body, n))
				both.Go(func() { h.wants(http.StatusOK, "", h.sent(r)) })
			}
			both.Wait()
			got := h.wants(http.StatusOK, "", a.do("GET", fmt.Sprintf("/v1/discover?q=name%d+able%d", n, n), ""))
			if len(got.Agents) != 1 {
				h.Errorf("after the changes %d the agent is not found by both", n)
			}
		}
	}, many)
}

// Uploads with invalid signatures can neither fill the disk nor block other uploads.
func TestUnauthenticatedUploads(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "blobs")
	h := newHost(t, "", func(o *relay.Options) {
		o.Blobs, o.Limits.Intake, o.Limits.IntakeEach = dir, 300_000, 100_000
		o.Client = func(r *http.Request) string { return r.Header.Get("X-From") }
	})
	a := h.agent().known()
	held := h.holdUpload(a, "stranger", 90_000)
	h.eventually("the upload is on the disk", func() bool { return dirBytes(dir) >= 90_000 })
	h.wants(http.StatusServiceUnavailable, "internal_error", a.do("POST", "/v1/blobs", strings.Repeat("x", 50_000), "X-From", "stranger"))
	h.wants(http.StatusCreated, "", a.do("POST", "/v1/blobs", strings.Repeat("x", 50_000), "X-From", "other"))
	_ = held.Close()
	h.eventually("the upload is deleted", func() bool {
		return a.do("POST", "/v1/blobs", strings.Repeat("x", 90_000), "X-From", "stranger").Status == http.StatusCreated
	})
}
