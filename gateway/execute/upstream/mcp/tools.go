package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// Bounds of the list of tools.
const (
	MaxTools    = 2000 // the maximum number of tools of one server
	MaxToolName = 128  // the maximum length of a name, in bytes
	maxPages    = 200
	maxListing  = 8 << 20 // the maximum size of all pages together, in bytes
)

// A Tool is a tool of the server. See MCP 2026-07-28, server/tools, Tool.
type Tool struct {
	Name        string
	Title       string
	Description string
	Input       strictjson.Object // JSON Schema of the arguments
	Output      strictjson.Object // JSON Schema of the structured output; nil: the tool states none
	ReadOnly    bool              // a call changes nothing, according to the server
	Digest      string            // the digest of name, schemas and annotations
}

// ErrTools means that the list of tools is not acceptable. Errors that wrap it contain the details.
var ErrTools = errors.New("the list of tools is not acceptable")

// Tools returns the tools of the server, in the order of the server. If a process does not respond in time, Tools may end it.
func (s *Server) Tools(ctx context.Context) ([]Tool, error) {
	t := s.slots[0]
	t.using.Add(1)
	defer t.leave()
	in, err := t.open(ctx)
	if err != nil {
		return nil, err
	}
	var all []Tool
	seen := map[string]bool{}
	cursor, size := "", 0
	for range maxPages {
		r, err := t.prepare(ctx, in, "tools/list", func(b *params) {
			if cursor != "" {
				b.text("cursor", cursor)
			}
		})
		if err != nil {
			if ctx.Err() != nil {
				t.transport.doubt(in)
			}
			return nil, err
		}
		if r.refusesSession(in) {
			t.current.CompareAndSwap(in, nil)
		}
		if r.Result == nil {
			if r.Err != nil {
				return nil, r.Err
			}
			return nil, &StatusError{r}
		}
		if size += len(r.Result); size > maxListing {
			return nil, fmt.Errorf("%w: it has more than %d bytes", ErrTools, maxListing)
		}
		tree, err := strictjson.DecodeObject(r.Result)
		if err != nil {
			return nil, fmt.Errorf("%w: it is not JSON", ErrTools)
		}
		for _, v := range tree.List("tools") {
			tool, ok := readTool(v)
			if !ok || seen[tool.Name] {
				continue // one invalid tool does not make the others unusable
			}
			if seen[tool.Name] = true; len(all) == MaxTools {
				return nil, fmt.Errorf("%w: it has more than %d tools", ErrTools, MaxTools)
			}
			all = append(all, tool)
		}
		next := tree.Text("nextCursor")
		if next == "" || next == cursor {
			return all, nil
		}
		cursor = next
	}
	return nil, fmt.Errorf("%w: it has more than %d pages", ErrTools, maxPages)
}

// readTool reads a tool of the list. It returns false if the tool has no usable name or no schema.
func readTool(v any) (Tool, bool) {
	m, ok := strictjson.AsObject(v)
	if !ok {
		return Tool{}, false
	}
	t := Tool{
		Name: m.Text("name"), Title: m.Text("title"), Description: m.Text("description"),
		Input: m.Object("inputSchema"), Output: m.Object("outputSchema"),
	}
	if !IsToolName(t.Name) || t.Input == nil {
		return Tool{}, false
	}
	annotations := m.Object("annotations")
	if t.Title == "" {
		t.Title = annotations.Text("title")
	}
	t.ReadOnly, _ = annotations["readOnlyHint"].(bool)
	identity, err := strictjson.Append(nil, map[string]any{
		"name": t.Name, "inputSchema": m["inputSchema"], "outputSchema": m["outputSchema"], "annotations": m["annotations"],
	})
	if err != nil {
		return Tool{}, false
	}
	sum := sha256.Sum256(identity)
	t.Digest = "sha-256:" + base64.RawURLEncoding.EncodeToString(sum[:])
	return t, true
}

// IsToolName reports whether a tool can be called by this name.
func IsToolName(name string) bool {
	return name != "" && len(name) <= MaxToolName && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsPrint(r) || r == unicode.ReplacementChar
	})
}

// Properties returns the names of the arguments that a tool takes, sorted, the names of the required ones, and whether the tool accepts
// others.
func (t *Tool) Properties() (names, required []string, open bool) {
	for name := range t.Input.Object("properties") {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, v := range t.Input.List("required") {
		if name, ok := v.(string); ok {
			required = append(required, name)
		}
	}
	additional, stated := t.Input["additionalProperties"].(bool)
	_, patterns := t.Input["patternProperties"]
	combined := false
	for _, name := range []string{"$ref", "allOf", "anyOf", "oneOf"} {
		_, has := t.Input[name]
		combined = combined || has
	}
	return names, required, !stated || additional || patterns || combined
}
