package relay_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// path returns the path of an agent.
func (a *agent) path() string { return "/v1/agents/" + a.key().String() }

// public makes an agent visible to others.
func (a *agent) public(name string, tags ...string) *agent {
	a.Helper()
	var list []string
	for _, t := range tags {
		list = append(list, fmt.Sprintf("%q", t))
	}
	a.wants(http.StatusOK, "", a.do("PATCH", a.path(), fmt.Sprintf(
		`{"visibility":"public","display_name":%q,"capabilities":[{"name":%q,"description":"It Does Things","tags":[%s]}]}`,
		name, "cap of "+name, strings.Join(list, ","))))
	return a
}

func TestProfilesChange(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		a, b := h.agent().known(), h.agent().known()
		got := h.wants(http.StatusOK, "", a.do("PATCH", a.path(), `{"display_name":"A","visibility":"public","metadata":{"z":"1","a":"2"},
			"capabilities":[{"name":"n","description":"d","tags":["x:y"],"input_schema":{"type":"object","maxProperties":12345678901234567890}}]}`))
		if *got.DisplayName != "A" || got.Visibility != wire.Public || len(got.Capabilities) != 1 || got.Capabilities[0].Tags[0] != "x:y" {
			t.Errorf("got %s", got.Raw)
		}
		got = h.wants(http.StatusOK, "", a.do("PATCH", a.path(), `{"inbox_policy":"open"}`))
		if *got.DisplayName != "A" || got.InboxPolicy != wire.Open || string(got.Metadata) != `{"z":"1","a":"2"}` ||
			!strings.Contains(string(got.Raw), "12345678901234567890") {
			t.Errorf("omitted members changed: %s", got.Raw)
		}
		got = h.wants(http.StatusOK, "", a.do("PATCH", a.path(), `{"display_name":null,"capabilities":[]}`))
		if got.DisplayName != nil || len(got.Capabilities) != 0 {
			t.Errorf("got %s", got.Raw)
		}
		h.wants(http.StatusForbidden, "forbidden", b.do("PATCH", a.path(), `{"display_name":"B"}`))
		h.wants(http.StatusUnprocessableEntity, "unprocessable_entity",
			a.do("PATCH", a.path(), `{"capabilities":[`+strings.Repeat(`"a",`, 20)+`"a"]}`))
		h.wants(http.StatusBadRequest, "bad_request", a.do("PATCH", a.path(), `{"display_name":`))
		caps := h.wants(http.StatusOK, "", b.do("GET", a.path()+"/capabilities", ""))
		if !strings.Contains(string(caps.Raw), `"capabilities":[]`) || !strings.Contains(string(caps.Raw), a.key().String()) {
			t.Errorf("got %s", caps.Raw)
		}
	})
}

func TestDeleteAgentWithData(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		a, b := h.agent().public("A", "t"), h.agent().known()
		b.send(a, `"to a"`)
		kept := a.send(b, `"to b"`)
		blob := h.wants(http.StatusCreated, "", a.do("POST", "/v1/blobs", "bytes")).BlobID
		h.wants(http.StatusOK, "", a.do("PUT", a.path()+"/acl", fmt.Sprintf(`{"peer_key":%q,"entry_type":"block"}`, b.key())))
		h.wants(http.StatusForbidden, "forbidden", b.do("DELETE", a.path(), ""))
		h.wants(http.StatusNoContent, "", a.do("DELETE", a.path(), ""))
		h.wants(http.StatusNotFound, "agent_not_found", b.do("GET", a.path(), ""))
		if got := ids(b.poll("")); !slices.Equal(got, []string{kept}) {
			t.Errorf("messages to others: %v, want %+v", got, []string{kept})
		}
		got := h.wants(http.StatusOK, "", a.do("GET", a.path(), ""))
		if got.Visibility != wire.Private || got.DisplayName != nil || len(got.Capabilities) != 0 {
			t.Errorf("created again: %s", got.Raw)
		}
		if got := a.poll(""); len(got) != 0 {
			t.Errorf("messages are left: %v", ids(got))
		}
		h.wants(http.StatusNotFound, "blob_not_found", a.do("GET", "/v1/blobs/"+blob, ""))
		b.send(a, `"again"`)
	})
}

func TestDiscover(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		one := h.agent().public("Übersetzer One", "text:translate", "lang:fr")
		two := h.agent().public("Two", "text:translate", "lang:es")
		h.agent().known() // private
		seeker := h.agent().known()
		both := []wire.Key{two.key(), one.key()}
		for query, want := range map[string][]wire.Key{
			"":                                     both,
			"tag=text:translate":                   both,
			"tag=text:translate&tag=lang:fr":       {one.key()},
			"tag=lang:fr&tag=lang:es":              nil,
			"tag=TEXT:translate":                   nil,
			"capability=lang:es":                   {two.key()},
			"capability_prefix=lang:":              both,
			"q=things+ONE":                         {one.key()},
			"q=" + url.QueryEscape("ÜBERSETZ"):     {one.key()},
			"q=cap+of+two":                         {two.key()},
			"q=nowhere":                            nil,
			"name=tw":                              {two.key()},
			"name=cap":                             nil,
			"name=%25":                             nil,
			"q=_":                                  nil,
			"q=" + url.QueryEscape(`"' OR 1=1 --`): nil,
			"q=" + url.QueryEscape(`a* NEAR(b)`):   nil,
			"active_since=2020-01-01T00:00:00Z":    both,
			"active_since=2020-01-01":              both,
			"active_since=2090-01-01T00:00:00Z":    nil,
			"tag=lang:fr&q=one&name=one&x=unknown": {one.key()},
		} {
			got := h.wants(http.StatusOK, "", seeker.do("GET", "/v1/discover?"+query, ""))
			var keys []wire.Key
			for _, a := range got.Agents {
				keys = append(keys, a.PublicKey)
			}
			if !slices.Equal(keys, want) || got.HasMore || got.NextCursor != nil {
				t.Errorf("%s: %s", query, got.Raw)
			}
		}
		for _, query := range []string{
			"limit=0", "limit=101", "limit=x", "cursor=x", "cursor=" + strings.Repeat("A", 2000), "active_since=soon", "q=%zz", "name=%00",
			strings.Repeat("tag=a&", 21),
		} {
			h.wants(http.StatusBadRequest, "bad_request", seeker.do("GET", "/v1/discover?"+query, ""))
		}
	})
}

func TestDiscoverPages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		var made []wire.Key
		for i := range 105 {
			made = append(made, h.agent().public(fmt.Sprint("agent ", i), "bulk").key())
		}
		slices.Reverse(made)
		seeker := h.agent().known()
		var found []wire.Key
		for cursor, pages := "", 0; ; pages++ {
			got := h.wants(http.StatusOK, "", seeker.do("GET", "/v1/discover?tag=bulk&limit=25"+cursor, ""))
			for _, a := range got.Agents {
				found = append(found, a.PublicKey)
			}
			if !got.HasMore {
				if got.NextCursor != nil || pages != 4 {
					t.Errorf("%d pages", pages+1)
				}
				break
			}
			cursor = "&cursor=" + url.QueryEscape(*got.NextCursor)
		}
		if !slices.Equal(found, made) {
			t.Errorf("%d agents, or in another order", len(found))
		}
		tags := h.wants(http.StatusOK, "", seeker.do("GET", "/v1/capabilities", ""))
		if !strings.Contains(string(tags.Raw), `{"name":"bulk","count":105}`) {
			t.Errorf("got %s", tags.Raw)
		}
	}, many)
}

// many raises the limits that a test would exceed.
func many(o *relay.Options) {
	o.Limits.Sends, o.Limits.Polls, o.Limits.Others = 100_000, 100_000, 100_000
	o.Limits.Newcomers.Max, o.Limits.Newcomers.Period = 100_000, "hour"
	o.Limits.UnknownSenders.Max, o.Limits.UnknownSenders.Period = 1_000_000, "minute"
}

func TestAccess(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		for _, c := range []struct {
			policy, entry string
			taken         bool
		}{
			{"open", "", true},
			{"open", "block", true},
			{"open", "allow", true},
			{"closed", "", false},
			{"closed", "allow", false},
			{"allowlist", "", false},
			{"allowlist", "allow", true},
			{"allowlist", "block", false},
			{"blocklist", "", true},
			{"blocklist", "block", false},
			{"blocklist", "allow", true},
		} {
			a, b := h.agent().known(), h.agent().known()
			h.wants(http.StatusOK, "", a.do("PATCH", a.path(), `{"inbox_policy":"`+c.policy+`"}`))
			if c.entry != "" {
				h.wants(http.StatusOK, "", a.do("PUT", a.path()+"/acl/"+b.key().String(), `{"entry_type":"`+c.entry+`"}`))
			}
			got := b.do("POST", "/v1/messages", message(a.key(), "1"))
			if c.taken && got.Status != http.StatusAccepted || !c.taken && (got.Status != http.StatusForbidden || got.code() != "acl_denied") {
				t.Errorf("%s, %s: %d %s", c.policy, c.entry, got.Status, got.Raw)
			}
		}
	}, many)
}

func TestAccessLists(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		a, b, c := h.agent().known(), h.agent(), h.agent()
		entry := func(peer *agent) string { return a.path() + "/acl/" + peer.key().String() }
		h.wants(http.StatusOK, "", a.do("PUT", a.path()+"/acl", fmt.Sprintf(`{"peer_key":%q,"entry_type":"block"}`, b.key())))
		h.wants(http.StatusOK, "", a.do("PUT", entry(c), `{"entry_type":"allow"}`))
		h.wants(http.StatusOK, "", a.do("PUT", entry(b), `{"entry_type":"allow"}`)) // replaces the first entry
		if got := h.wants(http.StatusOK, "", a.do("GET", a.path()+"/acl", "")); strings.Count(string(got.Raw), `"entry_type":"allow"`) != 2 {
			t.Errorf("got %s", got.Raw)
		}
		page := h.wants(http.StatusOK, "", a.do("GET", a.path()+"/acl?limit=1", ""))
		if !page.HasMore {
			t.Errorf("got %s", page.Raw)
		}
		if last := h.wants(http.StatusOK, "", a.do("GET", a.path()+"/acl?limit=1&cursor="+*page.NextCursor, "")); last.HasMore ||
			string(last.Raw) == string(page.Raw) {
			t.Errorf("got %s", last.Raw)
		}
		if got := h.wants(http.StatusOK, "", a.do("GET", a.path()+"/acl?type=block", "")); !strings.Contains(string(got.Raw), `"entries":[]`) {
			t.Errorf("got %s", got.Raw)
		}
		h.wants(http.StatusOK, "", a.do("GET", entry(b), ""))
		h.wants(http.StatusNoContent, "", a.do("DELETE", entry(b), ""))
		h.wants(http.StatusNotFound, "not_found", a.do("GET", entry(b), ""))
		h.wants(http.StatusNotFound, "not_found", a.do("DELETE", entry(b), ""))
		h.wants(http.StatusForbidden, "forbidden", c.do("GET", a.path()+"/acl", ""))
		h.wants(http.StatusForbidden, "forbidden", c.do("PUT", entry(c), `{"entry_type":"allow"}`))
		h.wants(http.StatusBadRequest, "bad_request", a.do("PUT", entry(b), `{"entry_type":"maybe"}`))
		h.wants(http.StatusBadRequest, "bad_request", a.do("GET", a.path()+"/acl?type=maybe", ""))
	})
}

func TestSuspended(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		a, b := h.agent().public("A"), h.agent().known()
		h.must(h.relay.Suspend(t.Context(), a.key(), true))
		h.wants(http.StatusForbidden, "agent_suspended", a.do("GET", "/v1/messages", ""))
		if got := h.wants(http.StatusOK, "", b.do("GET", a.path(), "")); got.Profile.Status != wire.Suspended {
			t.Errorf("got %s", got.Raw)
		}
		if got := h.wants(http.StatusOK, "", b.do("GET", "/v1/discover", "")); len(got.Agents) != 0 {
			t.Errorf("a suspended agent is found: %s", got.Raw)
		}
		h.must(h.relay.Suspend(t.Context(), a.key(), false))
		h.wants(http.StatusOK, "", a.do("GET", "/v1/messages", ""))
	})
}

func TestLastActive(t *testing.T) {
	t.Parallel()
	h := newHost(t, "")
	a := h.agent().known()
	h.pass(time.Hour)
	got := h.wants(http.StatusOK, "", a.do("GET", a.path(), ""))
	if at := h.clock.Now().Sub(got.LastActiveAt); at > time.Minute || got.LastActiveAt.Sub(got.CreatedAt) < time.Hour {
		t.Errorf("got %s", got.Raw)
	}
}
