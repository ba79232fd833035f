package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/uimgate/uimgate/gateway/page"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/toolname"
)

// Bounds of what is told of one tool, in bytes.
const (
	toolDescription = 4000
	toolTitle       = 200
)

// tools are those of one service, made when they are first asked for.
type tools struct {
	names     []string // sorted
	described [][]byte // JSON, in the order of names
	uids      map[string]string
}

// of returns the tools of a service.
func (d *Door) of(ctx context.Context, s *service.Definition) *tools {
	t, _ := d.made.Get(s, nil, func() (*tools, error) { return newTools(context.WithoutCancel(ctx), s), nil })
	return t
}

func newTools(ctx context.Context, s *service.Definition) *tools {
	t := &tools{uids: map[string]string{}}
	offered := s.Offered()
	uids, byUID := make([]intents.UID, 0, len(offered)), make(map[intents.UID]*service.Intent, len(offered))
	for _, in := range offered {
		uids, byUID[in.UID] = append(uids, in.UID), in
	}
	described := map[string][]byte{}
	for name, uid := range toolname.Names(uids) {
		text, err := describe(ctx, s, name, byUID[uid])
		if err != nil { // one tool that cannot be described must not hide the others
			continue
		}
		described[name], t.uids[name] = text, uid.String()
	}
	t.names = slices.Sorted(maps.Keys(described))
	for _, name := range t.names {
		t.described = append(t.described, described[name])
	}
	return t
}

// uid is the intent that a tool is; the name itself where it is none, which may be a uid.
func (t *tools) uid(name string) string {
	if uid, ok := t.uids[name]; ok {
		return uid
	}
	return name
}

// A tool is one intent. MCP 2026-07-28, server/tools, Tool.
type tool struct {
	Name         string         `json:"name"`
	Title        string         `json:"title,omitempty"`
	Description  string         `json:"description,omitempty"`
	InputSchema  any            `json:"inputSchema"`
	OutputSchema any            `json:"outputSchema,omitempty"`
	Annotations  annotations    `json:"annotations"`
	Meta         map[string]any `json:"_meta"`
}

// annotations are hints, which clients do not trust. MCP 2026-07-28, schema, ToolAnnotations.
type annotations struct {
	Title       string `json:"title,omitempty"`
	ReadOnly    bool   `json:"readOnlyHint"`
	Destructive *bool  `json:"destructiveHint,omitempty"`
	Idempotent  bool   `json:"idempotentHint,omitempty"`
	OpenWorld   bool   `json:"openWorldHint"`
}

func describe(ctx context.Context, s *service.Definition, name string, in *service.Intent) ([]byte, error) {
	t := tool{
		Name: name, Title: plain(in.Name, toolTitle), InputSchema: in.InputSchema(),
		Annotations: annotations{ReadOnly: in.Safe, OpenWorld: true},
	}
	if out := in.OutputSchema(); out != nil {
		t.OutputSchema = out
	}
	if in.Safe {
		t.Annotations.Destructive = new(bool)
	}
	if in.Endpoint != nil {
		t.Annotations.Idempotent = in.Safe || in.Endpoint.Method == http.MethodPut || in.Endpoint.Method == http.MethodDelete
	}
	terms := page.ShortTerms(ctx, s, in)
	lines := []string{}
	if about := plain(in.Description, toolDescription); about != "" {
		lines = append(lines, about)
	}
	lines = append(lines, "Intent: "+in.ID, "Terms: "+terms)
	if s.NeedsKey(ctx, in) {
		lines = append(lines, "Needs an agent with a key of its own, such as the local bridge: uimgate mcp.")
	}
	t.Description = strings.Join(lines, "\n")
	about := map[string]any{"uid": in.ID, "version": in.UID.Version, "terms": terms}
	if len(in.Tags) > 0 {
		about["tags"] = in.Tags
	}
	if in.Price != "" {
		about["price"] = in.Price
	}
	t.Meta = map[string]any{toolname.Member(s.Issuer): about}
	return json.Marshal(t)
}

// list answers tools/list. MCP 2026-07-28, server/tools, Listing Tools; server/utilities/pagination.
func (d *Door) list(ctx context.Context, a *answer) {
	t := d.of(ctx, a.Service.Definition)
	from, ok := t.after(a.Params["cursor"])
	if !ok {
		a.failed(http.StatusOK, invalidParams("The cursor is none of this list."))
		return
	}
	to := min(from+a.Service.Doors.MCP.PageSize, len(t.names))
	size := 200
	for _, tool := range t.described[from:to] {
		size += len(tool) + 1
	}
	out := append(append(make([]byte, 0, size), '{'), a.complete()...)
	out = append(out, `"tools":[`...)
	for i, tool := range t.described[from:to] {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, tool...)
	}
	if out = append(out, ']'); to < len(t.names) {
		out = append(append(append(out, `,"nextCursor":"`...), cursorAfter(t.names[to-1])...), '"')
	}
	if a.revision.alone {
		out = append(strconv.AppendInt(append(out, `,"ttlMs":`...), listedFor, 10), `,"cacheScope":"public"`...)
	}
	a.result(append(out, '}'))
}

// after returns where in the list a cursor leads to. A cursor is the name of the tool before it, so that it holds over reloads
// and for every replica; since the list is public, nothing is gained by making one up.
func (t *tools) after(cursor any) (at int, ok bool) {
	if cursor == nil {
		return 0, true
	}
	text, isText := cursor.(string)
	const longest = 2 * toolname.Max
	if !isText || len(text) > longest {
		return 0, false
	}
	name, err := base64.RawURLEncoding.DecodeString(text)
	last, named := strings.CutPrefix(string(name), cursorForm)
	if err != nil || !named || last == "" {
		return 0, false
	}
	at, found := slices.BinarySearch(t.names, last)
	if found {
		at++
	}
	return at, true
}

// cursorForm begins each cursor.
const cursorForm = "after:"

func cursorAfter(name string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(cursorForm + name))
}

// complete is the member that each result of a revision without handshake has.
func (a *answer) complete() string {
	if a.revision.alone {
		return `"resultType":"complete",`
	}
	return ""
}

// plain is a text of the operator's for a model: of at most so many bytes, without control characters.
func plain(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return -1
		}
		return r
	}, s)
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strings.TrimSpace(s)
}
