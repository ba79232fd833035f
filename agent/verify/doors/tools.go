package doors

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/toolname"
	"github.com/uimgate/uimgate/intents/toolset"
	"github.com/uimgate/uimgate/internal/regex"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// A tool is a tool as the endpoint lists it.
type tool struct {
	name string
	tree strictjson.Object
}

const (
	maxPages = 100
	maxTools = 10_000
)

// mcpTools lists the tools. See MCP 2026-07-28, server/tools, Listing Tools; server/utilities/pagination.
func (d *Doors) mcpTools(ctx context.Context) point.Finding {
	params := map[string]any{}
	seen, listed := map[string]bool{}, map[string]bool{}
	for range maxPages {
		r, err := d.request(ctx, d.bearer(http.Header{}), "tools/list", params)
		if err != nil {
			return point.Failed(err)
		}
		if f := r.answered(); !f.Ok() {
			return f
		}
		if f := d.take(r.result, listed); !f.Ok() {
			return f
		}
		cursor, more := r.result["nextCursor"].(string)
		switch {
		case r.result["nextCursor"] == nil && listed[toolset.Call] && !strings.Contains(d.mcp.url, "?"): // a large catalogue
			d.mcp.url, d.mcp.tools = d.mcp.url+"?tools=all", nil
			return d.mcpTools(ctx)
		case r.result["nextCursor"] == nil:
			return point.Holds.Because("%d", len(d.mcp.tools))
		case !more:
			return point.Wrong.Because("nextCursor is not a string")
		case seen[cursor]:
			return point.Wrong.Because("a cursor is repeated, so a client would request pages forever")
		}
		seen[cursor], params = true, map[string]any{"cursor": cursor}
	}
	return point.Wrong.Because("there are more than %d pages", maxPages)
}

// take keeps the tools of one page.
func (d *Doors) take(page strictjson.Object, listed map[string]bool) point.Finding {
	list, isList := page["tools"].([]any)
	if !isList {
		return point.Wrong.Because("tools is not a list")
	}
	if len(d.mcp.tools)+len(list) > maxTools {
		return point.Wrong.Because("there are more than %d tools", maxTools)
	}
	for _, item := range list {
		tree, _ := strictjson.AsObject(item)
		name := tree.Text("name")
		switch {
		case name == "":
			return point.Wrong.Because("a tool has no name")
		case listed[name]:
			return point.Wrong.Because("%.128q is listed twice", name)
		}
		listed[name] = true
		d.mcp.tools = append(d.mcp.tools, tool{name, tree})
	}
	return point.Pass
}

var toolName = regex.Lazy(`^[A-Za-z0-9_.-]{1,128}$`)

func (d *Doors) mcpToolNames(context.Context) point.Finding {
	var bad []string
	for _, t := range d.mcp.tools {
		if !toolName().MatchString(t.name) {
			bad = append(bad, fmt.Sprintf("%.128q", t.name))
		}
	}
	return point.WrongIfAny(bad)
}

// mcpToolSchemas compiles every schema, as clients do. Some clients drop all tools if one schema is invalid.
func (d *Doors) mcpToolSchemas(ctx context.Context) point.Finding {
	var bad []string
	for _, t := range d.mcp.tools {
		if ctx.Err() != nil {
			return point.Failed(ctx.Err())
		}
		if what := schemaFault(t.tree["inputSchema"]); what != "" {
			bad = append(bad, fmt.Sprintf("%.128s: inputSchema %s", t.name, what))
		}
		if t.tree["outputSchema"] != nil {
			if what := schemaFault(t.tree["outputSchema"]); what != "" {
				bad = append(bad, fmt.Sprintf("%.128s: outputSchema %s", t.name, what))
			}
		}
	}
	return point.WrongIfAny(bad)
}

// schemaFault describes what is wrong with the schema of an object, or returns "" if it is valid. It does not load external documents.
func schemaFault(v any) string {
	schema, isObject := strictjson.AsObject(v)
	switch {
	case v == nil:
		return "is missing"
	case !isObject:
		return "is not an object"
	case schema["type"] != "object":
		return `does not have the type "object"`
	}
	text, err := json.Marshal(schema)
	if err != nil {
		return "cannot be encoded"
	}
	const name = "urn:uimgate:tool"
	compiler := jsonschema.NewCompiler()
	compiler.Draft = jsonschema.Draft2020
	compiler.LoadURL = func(string) (io.ReadCloser, error) { return nil, errors.New("external schemas are not loaded") }
	if err := compiler.AddResource(name, bytes.NewReader(text)); err != nil {
		return "is not a JSON Schema"
	}
	if _, err := compiler.Compile(name); err != nil {
		return "is not a valid JSON Schema, or refers to an external one"
	}
	return ""
}

// mcpIntents compares the tools with the intents by name, by uid, or by the uid that the tool states.
func (d *Doors) mcpIntents(context.Context) point.Finding {
	offered, permitted := d.offered()
	byName := toolname.Names(slices.Collect(maps.Keys(offered)))
	d.mcp.toolOf = map[intents.UID]string{}
	var bad []string
	for _, t := range d.mcp.tools {
		uid, ok := byName[t.name]
		if named := t.intent(); !ok && named != "" {
			var err error
			uid, err = intents.ParseUID(named)
			ok = err == nil && offered[uid] != nil
		}
		if !ok {
			bad = append(bad, fmt.Sprintf("%.128s is not an intent", t.name))
			continue
		}
		d.mcp.toolOf[uid] = t.name
		if what := t.differs(offered[uid]); what != "" {
			bad = append(bad, fmt.Sprintf("%.128s %s", t.name, what))
		}
	}
	for _, uid := range permitted {
		if d.mcp.toolOf[uid] == "" {
			bad = append(bad, uid.String()+" is not a tool")
		}
	}
	return point.WrongIfAny(bad)
}

// offered returns the offered intents, and those of them that the PAT permits.
func (d *Doors) offered() (map[intents.UID]*intents.Intent, []intents.UID) {
	all := map[intents.UID]*intents.Intent{}
	var permitted []intents.UID
	for _, in := range d.Catalog.Intents() {
		if in.Retired {
			continue
		}
		all[in.UID] = in
		if d.Token == "" || d.Permits(in.UID.String()) {
			permitted = append(permitted, in.UID)
		}
	}
	return all, permitted
}

// intent returns the uid that a tool states, as its name or in a member of _meta whose name ends in /intent.
func (t tool) intent() string {
	if strings.Count(t.name, ":") > 1 {
		return t.name
	}
	meta := t.tree.Object("_meta")
	for _, name := range meta.Names() {
		if uid := meta.Object(name).Text("uid"); strings.HasSuffix(name, "/intent") && uid != "" {
			return uid
		}
	}
	return ""
}

// differs describes how the parameters of a tool differ from those of its intent. It returns "" if they do not.
func (t tool) differs(in *intents.Intent) string {
	schema := t.tree.Object("inputSchema")
	var have []string
	for _, p := range in.Inputs {
		have = append(have, p.Name)
	}
	slices.Sort(have)
	if !slices.Equal(have, schema.Object("properties").Names()) {
		return "does not have the parameters of the intent"
	}
	return ""
}
