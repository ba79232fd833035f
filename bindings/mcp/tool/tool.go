// Package tool describes the intents of a service as tools of the Model Context Protocol. The doors of all protocols whose agents support
// such tools share this package.
package tool

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/page"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/toolname"
)

// The maximum lengths of the description and the title of a tool, in bytes.
const (
	toolDescription = 4000
	toolTitle       = 200
)

// Tools holds the tools of one service. It is read-only.
type Tools struct {
	Names     []string // sorted
	Described [][]byte // JSON, in the order of Names
	uids      map[string]string
	terms     map[string]string
}

// Made describes the tools of each service when they are first requested, and caches them. The zero value is ready to use. It is safe for
// concurrent use.
type Made struct{ made door.Cache[*Tools] }

// Of returns the tools of a service.
func (m *Made) Of(ctx context.Context, s *service.Definition) *Tools {
	t, _ := m.made.Get(s, nil, func() (*Tools, error) { return newTools(context.WithoutCancel(ctx), s), nil })
	return t
}

func newTools(ctx context.Context, s *service.Definition) *Tools {
	t := &Tools{uids: map[string]string{}, terms: map[string]string{}}
	offered := s.Offered()
	uids, byUID := make([]intents.UID, 0, len(offered)), make(map[intents.UID]*service.Intent, len(offered))
	for _, in := range offered {
		uids, byUID[in.UID] = append(uids, in.UID), in
	}
	described := map[string][]byte{}
	for name, uid := range toolname.Names(uids) {
		t.terms[uid.String()] = page.ShortTerms(ctx, s, byUID[uid])
		text, err := describe(ctx, s, name, byUID[uid], t.terms[uid.String()])
		if err != nil { // omit the tool, but offer the others
			continue
		}
		described[name], t.uids[name] = text, uid.String()
	}
	t.Names = slices.Sorted(maps.Keys(described))
	for _, name := range t.Names {
		t.Described = append(t.Described, described[name])
	}
	return t
}

// UID returns the uid of the intent of a tool. If there is no such tool, it returns the name, which may itself be a uid.
func (t *Tools) UID(name string) string {
	if uid, ok := t.uids[name]; ok {
		return uid
	}
	return name
}

// Terms returns the terms of an intent in a few words, or "" if the intent does not exist.
func (t *Tools) Terms(uid string) string { return t.terms[uid] }

// A tool describes one intent. See MCP 2026-07-28, server/tools, Tool.
type tool struct {
	Name         string         `json:"name"`
	Title        string         `json:"title,omitempty"`
	Description  string         `json:"description,omitempty"`
	InputSchema  any            `json:"inputSchema"`
	OutputSchema any            `json:"outputSchema,omitempty"`
	Annotations  annotations    `json:"annotations"`
	Meta         map[string]any `json:"_meta"`
}

// annotations are hints, which clients need not trust. See MCP 2026-07-28, schema, ToolAnnotations.
type annotations struct {
	Title       string `json:"title,omitempty"`
	ReadOnly    bool   `json:"readOnlyHint"`
	Destructive *bool  `json:"destructiveHint,omitempty"`
	Idempotent  bool   `json:"idempotentHint,omitempty"`
	OpenWorld   bool   `json:"openWorldHint"`
}

func describe(ctx context.Context, s *service.Definition, name string, in *service.Intent, terms string) ([]byte, error) {
	t := tool{
		Name: name, Title: Plain(in.Name, toolTitle), InputSchema: in.InputSchema(),
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
	lines := []string{}
	if about := Plain(in.Description, toolDescription); about != "" {
		lines = append(lines, about)
	}
	lines = append(lines, "Intent: "+in.ID, "Terms: "+terms)
	switch offer := s.BudgetOffer(); {
	case !s.NeedsKey(ctx, in):
	case offer != nil && s.Charges(ctx, in, offer.Max.Currency):
		lines = append(lines, "Requires a person's consent that permits spending on it, or an agent that has its own key, such as the "+
			"local bridge: uimgate mcp.")
	default:
		lines = append(lines, "Requires an agent that has its own key, such as the local bridge: uimgate mcp.")
	}
	t.Description = strings.Join(lines, "\n")
	about := map[string]any{"uid": in.ID, "version": in.UID.Version, "terms": terms}
	if len(in.Tags) > 0 {
		about["tags"] = in.Tags
	}
	if in.Price != "" {
		about["price"] = in.Price
	}
	if in.Timeout > 0 {
		about["timeout"] = intents.Seconds(in.Timeout)
	}
	t.Meta = map[string]any{toolname.Member(s.Issuer): about}
	return json.Marshal(t)
}

// Plain prepares a string of the operator for a model. It removes control and format characters other than newlines and tabs, and white
// space at both ends. If more than maxBytes bytes are left, it cuts the string off there and appends an ellipsis.
func Plain(s string, maxBytes int) string {
	s = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return -1
		}
		return r
	}, s)
	if len(s) > maxBytes {
		s = strings.ToValidUTF8(s[:maxBytes], "") + "…"
	}
	return strings.TrimSpace(s)
}
