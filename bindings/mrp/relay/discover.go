package relay

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/store/mail"
)

// maxFilters is the maximum number of tags, and of words, in a search.
const maxFilters = 20

// An agentMark is a position among agents, in a cursor.
type agentMark struct {
	At  int64    `json:"t"`
	Key wire.Key `json:"k"`
}

// discover finds public agents, most recently active first.
func (r *Relay) discover(w http.ResponseWriter, c *call) *wire.Error {
	q, refused := readQuery(c.URL.RawQuery)
	if refused != nil {
		return refused
	}
	s, refused := readSearch(q)
	if refused != nil {
		return refused
	}
	agents, more, err := r.store.Discover(c.Context(), s)
	if err != nil {
		return r.refusal(err, wire.NotFound)
	}
	page := wire.Agents{Agents: []wire.Agent{}, HasMore: more}
	for _, a := range agents {
		page.Agents = append(page.Agents, wire.Agent{
			PublicKey: a.Key, DisplayName: nameOf(a), LastActiveAt: a.LastActiveAt.UTC(), Capabilities: capabilitiesOf(a),
		})
	}
	if n := len(agents); n > 0 {
		page.NextCursor = writeCursor(agentMark{agents[n-1].LastActiveAt.UnixNano(), agents[n-1].Key}, more)
	}
	text, err := json.Marshal(page)
	if err != nil {
		return r.refusal(err, wire.NotFound)
	}
	return refusedIn(r.large(w, c, text))
}

// readSearch reads the filters of a query. Older agents send capability and capability_prefix instead of tag.
func readSearch(q url.Values) (s mail.Search, refused *wire.Error) {
	if s.Limit, refused = readLimit(q, wire.DefaultAgents); refused != nil {
		return s, refused
	}
	s.Tags = append(append(s.Tags, q["tag"]...), q["capability"]...)
	s.Prefixes = q["capability_prefix"]
	s.Words, s.Name = strings.Fields(fold(q.Get("q"))), fold(q.Get("name"))
	if len(s.Tags)+len(s.Prefixes) > maxFilters || len(s.Words) > maxFilters {
		return s, wire.Refuse(wire.BadRequest, "a search can have at most 20 tags and 20 words")
	}
	if text := q.Get("active_since"); text != "" {
		var err error
		if s.ActiveSince, err = time.Parse(time.RFC3339, text); err != nil {
			if s.ActiveSince, err = time.Parse(time.DateOnly, text); err != nil {
				return s, wire.Refuse(wire.BadRequest, "active_since must be a time such as 2026-03-05T12:00:00Z")
			}
		}
	}
	var m agentMark
	there, refused := readCursor(q, &m)
	if there {
		s.After = &mail.AgentPlace{ActiveAt: time.Unix(0, m.At).UTC(), Key: m.Key}
	}
	return s, refused
}

// A tagMark is a position among tags, in a cursor.
type tagMark struct {
	Count int64  `json:"n"`
	Tag   string `json:"t"`
}

// tags responds with the tags of all public agents, the most frequent first.
func (r *Relay) tags(c *call) (any, *wire.Error) {
	q, limit, refused := readPage(c.URL.RawQuery, wire.MaxPage)
	if refused != nil {
		return nil, refused
	}
	var from tagMark
	there, refused := readCursor(q, &from)
	if refused != nil {
		return nil, refused
	}
	var after *mail.TagCount
	if there {
		after = &mail.TagCount{Tag: from.Tag, Count: from.Count}
	}
	list, more, err := r.store.Tags(c.Context(), after, limit)
	page := wire.TagCounts{Capabilities: []wire.TagCount{}, HasMore: more}
	for _, t := range list {
		page.Capabilities = append(page.Capabilities, wire.TagCount{Name: t.Tag, Count: t.Count})
		from = tagMark{t.Count, t.Tag}
	}
	page.NextCursor = writeCursor(from, more)
	return page, r.refusal(err, wire.NotFound)
}
