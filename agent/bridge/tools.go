package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/toolname"
	"github.com/uimgate/uimgate/intents/toolset"
)

// A tool is one intent of one service.
type tool struct {
	of     *service
	intent *intents.Intent
}

const maxTags = 20

// idempotent are the methods that may be repeated although they change state. See RFC 9110, section 9.2.2.
var idempotent = []string{http.MethodPut, http.MethodDelete}

// offer makes a tool of each intent that is not retired, and lists them or, if there are too many, the tools that search and call them. If
// there are several services, each name begins with the host of its service. The server notifies MCP hosts when the list changes.
func (b *Bridge) offer() {
	if b.server == nil { // Open has not finished
		return
	}
	b.offering.Lock()
	defer b.offering.Unlock()
	tools := map[string]tool{}
	for _, s := range b.services {
		_, catalog, _, _ := s.state()
		if catalog == nil {
			continue
		}
		for name, uid := range b.names(s, catalog) {
			in, ok := catalog.Lookup(uid)
			if _, taken := tools[name]; !ok || taken {
				b.o.Log(fmt.Sprintf("%s is omitted: another tool is already named %s", uid, name))
				continue
			}
			tools[name] = tool{s, in}
		}
	}
	b.mu.Lock()
	b.tools = tools
	b.mu.Unlock()
	list, browses := b.choose(tools)
	for name := range b.shown {
		if _, stays := list[name]; !stays && (!browses || !toolset.IsTool(name)) {
			b.withdraw(name)
		}
	}
	for name, t := range list {
		b.show(name, t)
	}
	if browses {
		b.showBrowsing(len(tools))
	}
}

// show adds a tool to the list, unless the list already has it unchanged.
func (b *Bridge) show(name string, t tool) {
	described, err := t.describe(name)
	var text []byte
	if err == nil {
		text, err = json.Marshal(described)
	}
	if err != nil { // an error drops one tool, not the list
		b.o.Log(fmt.Sprintf("%s is omitted: %s", t.intent.UID, oneLine(err.Error(), maxNote)))
		b.withdraw(name)
		return
	}
	if b.shown[name] == string(text) {
		return
	}
	b.shown[name] = string(text)
	b.server.AddTool(described, b.handled)
}

// handled is the handler of the listed tools. The server does not reach it, because receive responds to all calls.
func (b *Bridge) handled(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return nil, b.unknownTool(req.Params.Name)
}

// withdraw removes a tool from the list.
func (b *Bridge) withdraw(name string) {
	if _, listed := b.shown[name]; listed {
		delete(b.shown, name)
		b.server.RemoveTools(name)
	}
}

// names returns the tool names of a service. Names of retired intents stay reserved, so that retiring one intent never renames
// another.
func (b *Bridge) names(s *service, catalog *intents.Catalog) map[string]intents.UID {
	var uids []intents.UID
	for _, in := range catalog.Intents() {
		uids = append(uids, in.UID)
	}
	names := toolname.Names(uids)
	if len(b.services) > 1 {
		names = toolname.Under(label(s.target), names)
	}
	maps.DeleteFunc(names, func(_ string, uid intents.UID) bool {
		in, ok := catalog.Lookup(uid)
		return !ok || in.Retired
	})
	return names
}

// label returns the host of a target, with the port if the target has one.
func label(target string) string {
	if !strings.Contains(target, "://") {
		target = "https://" + target
	}
	u, err := url.Parse(target)
	if err != nil {
		return target
	}
	return u.Host
}

// toolName returns the name of a tool, given that name or the UID of the intent. It returns false if the tool does not exist, or if several
// services have the intent.
func (b *Bridge) toolName(name string) (string, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.tools[name]; ok {
		return name, true
	}
	var found []string
	for candidate, t := range b.tools {
		if t.intent.UID.String() == name {
			found = append(found, candidate)
		}
	}
	if len(found) != 1 {
		return "", false
	}
	return found[0], true
}

func (b *Bridge) toolNames() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.tools))
}

// describe returns the MCP form of a tool.
func (t tool) describe(name string) (*mcp.Tool, error) {
	in := t.intent
	described := &mcp.Tool{
		Name: name, Title: oneLine(in.Name, maxTitle), Description: t.description(), Meta: t.meta(),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: in.Safe, OpenWorldHint: new(true)},
	}
	if in.Safe {
		described.Annotations.DestructiveHint = new(false)
	}
	if in.Endpoint != nil {
		described.Annotations.IdempotentHint = slices.Contains(idempotent, in.Endpoint.Method)
	}
	input, err := json.Marshal(schema(in.InputSchema()))
	if err != nil {
		return nil, err
	}
	described.InputSchema = json.RawMessage(input)
	if declared := in.OutputSchema(); declared != nil {
		output, err := json.Marshal(schema(declared))
		if err != nil {
			return nil, err
		}
		described.OutputSchema = json.RawMessage(output)
	}
	return described, nil
}

// description returns the intent's own description, followed by its UID, and by its price and limit if the policy states them.
func (t tool) description() string {
	uid := t.intent.UID.String()
	parts := []string{severalLines(t.intent.Description, maxDescription), "UID: " + uid}
	_, _, _, terms := t.of.state()
	if output := terms.Intents[uid].Words; output != "" {
		parts = append(parts, severalLines(output, maxNote))
	}
	return strings.TrimSpace(strings.Join(parts, "\n"))
}

// meta returns machine-readable metadata that identifies the intent, under the reversed domain name of the issuer. See MCP 2026-07-28,
// basic, _meta.
func (t tool) meta() mcp.Meta {
	current, _, _, _ := t.of.state()
	in := t.intent
	about := map[string]any{"uid": in.UID.String(), "version": in.UID.Version}
	if in.Price != "" {
		about["price"] = oneLine(in.Price, maxTitle)
	}
	if in.Timeout > 0 {
		about["timeout"] = intents.Seconds(in.Timeout)
	}
	if len(in.Tags) > 0 {
		var tags []string
		for _, tag := range in.Tags[:min(len(in.Tags), maxTags)] {
			tags = append(tags, oneLine(tag, maxTitle))
		}
		about["tags"] = tags
	}
	return mcp.Meta{oneLine(toolname.Member(current.Issuer()), maxTitle): about}
}
