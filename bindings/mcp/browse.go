package mcp

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/bindings/mcp/tool"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/page"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/toolset"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/jsonrpc"
)

// choice is the member of the query of the endpoint's URL that selects the tools in the list: all, search, or tag:orders.
const choice = "tools"

// choiceOf reads the choice of tools from the URL.
func choiceOf(u *url.URL) (toolset.Choice, *jsonrpc.Error) {
	if u.RawQuery == "" {
		return toolset.Choice{}, nil
	}
	c, err := toolset.ParseChoice(u.Query().Get(choice))
	if err != nil {
		return c, invalidParams("The parameter " + choice + " of the URL: " + err.Error() + ".")
	}
	return c, nil
}

// browses reports whether the list has the tools that search the catalogue, and not one tool for each intent.
func (a *answer) browses(t *tool.Tools) bool {
	return a.choice.Searches(len(t.Names), SettingsOf(a.Service.Definition).ListUpTo)
}

// listed returns the tools in the list that the client has chosen.
func (a *answer) listed(t *tool.Tools) (names []string, described [][]byte) {
	switch {
	case a.browses(t):
		names = []string{toolset.Search, toolset.Describe, toolset.Call}
		return names, toolset.Tools(tool.Plain(a.Service.Issuer, 100), len(t.Names))
	case len(a.choice.Tags) == 0:
		return t.Names, t.Described
	}
	for i, name := range t.Names {
		if in, err := a.Service.Intent(t.UID(name)); err == nil && a.choice.Lists(in.Intent) {
			names, described = append(names, name), append(described, t.Described[i])
		}
	}
	return names, described
}

// source is the catalogue of a service. It implements toolset.Source.
type source struct {
	*service.Definition
	tools *tool.Tools
	// left returns how many calls to intents the caller can still make. If it is nil, the caller is unknown.
	left func(uids []string) map[string][]execute.Left
}

// Find implements toolset.Source.
func (s source) Find(q intents.Query) ([]toolset.Entry, int) {
	page := s.Catalog.Search(q)
	found := make([]toolset.Entry, 0, len(page.Intents))
	for _, in := range page.Intents {
		found = append(found, s.entry(in))
	}
	if s.left == nil || len(found) == 0 {
		return found, page.TotalResults
	}
	uids := make([]string, len(found))
	for i := range found {
		uids[i] = found[i].ID
	}
	left := s.left(uids)
	for i := range found {
		found[i].Left = leftWords(left[found[i].ID])
	}
	return found, page.TotalResults
}

// Lookup implements toolset.Source.
func (s source) Lookup(id string) (toolset.Entry, string, bool) {
	in, err := s.Executable(s.tools.UID(id))
	if err == nil {
		return s.entry(in.Intent), "", true
	}
	if f, ok := errors.AsType[*reason.Refusal](err); ok {
		return toolset.Entry{}, nearest(f), false
	}
	return toolset.Entry{}, "", false
}

func (s source) entry(in *intents.Intent) toolset.Entry {
	uid := in.UID.String()
	return toolset.Entry{ID: uid, Intent: in, Terms: s.tools.Terms(uid)}
}

// nearest returns the uid that an unknown one may mean: the latest other version, the successor, or the most similar one. It returns "" if
// there is none.
func nearest(f *reason.Refusal) string {
	if versions, ok := f.Details["versions"].([]intents.UID); ok && len(versions) > 0 {
		return versions[len(versions)-1].String()
	}
	for _, name := range []string{"replaced_by", "nearest"} {
		if near, _ := f.Details[name].(string); near != "" {
			return near
		}
	}
	return ""
}

// leftWords describes how many calls are left, such as "at least 37 of 600 calls an hour". It returns "" if no limit applies.
func leftWords(list []execute.Left) string {
	limited := func(l execute.Left) bool { return l.Limit.ID != "" }
	if !slices.ContainsFunc(list, limited) {
		return ""
	}
	var ways []string
	for _, l := range list {
		way := "without a limit"
		if limited(l) {
			way = strconv.FormatInt(l.Calls, 10) + " of " + page.ShortRate(l.Limit.Rate)
		}
		if l.AtLeast {
			way = "at least " + way
		}
		if l.Limit.Kind == limit.Ceiling {
			way += ", shared with other agents"
		}
		if !l.Charge.IsZero() {
			way += " at " + l.Charge.String() + " each"
		}
		if !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	return strings.Join(ways, "; then ")
}

// browse responds to a call to search_intents or describe_intents. Both read the public catalogue. A search by an agent with a PAT also
// reads how many calls its limits admit; if they cannot be read, it omits them.
func (d *Door) browse(ctx context.Context, a *answer, name string, arguments strictjson.Object, call execute.Call) {
	s := source{Definition: a.Service.Definition, tools: d.tools.Of(ctx, a.Service.Definition)}
	if a.held == nil && a.token != "" {
		s.left = func(uids []string) map[string][]execute.Left {
			left, err := a.Left(ctx, call, uids)
			if err != nil {
				return nil
			}
			return left
		}
	}
	var texts []string
	var err error
	if name == toolset.Search {
		var found []byte
		found, err = toolset.Find(s, arguments)
		texts = []string{string(found)}
	} else {
		texts, err = toolset.Signatures(s, arguments)
	}
	if err != nil {
		a.toolFailed(reason.InvalidParameter.Refusal(err.Error()))
		return
	}
	a.result(append(appendContent(append([]byte{'{'}, a.complete()...), texts...), '}'))
}

// appendContent appends the member content, with a block for each text.
func appendContent(out []byte, texts ...string) []byte {
	out = append(out, `"content":[`...)
	for i, text := range texts {
		if i > 0 {
			out = append(out, ',')
		}
		w := strictjson.NewWriter(out)
		w.Text("type", "text")
		w.Text("text", text)
		out = ended(w)
	}
	return append(out, ']')
}

// A target is the intent that a call to a tool names.
type target struct {
	execute.Request
	known bool // the tool itself exists, so that an unknown intent is an error of its arguments
}

// targetOf returns the intent and the parameters of a tools/call: those of the tool itself, or those in the arguments of call_intent.
func targetOf(t *tool.Tools, name string, arguments strictjson.Object) (target, error) {
	if name != toolset.Call {
		return target{execute.Request{IntentUID: t.UID(name), Parameters: arguments, At: "/arguments"}, false}, nil
	}
	id, parameters, err := toolset.ParseCall(arguments)
	if err != nil {
		return target{}, reason.InvalidParameter.Refusal(err.Error())
	}
	return target{execute.Request{IntentUID: t.UID(id), Parameters: parameters, At: "/arguments/parameters"}, true}, nil
}

// introduction describes for a model how it finds the intents of a large catalogue. It is empty if the list has a tool for each.
func (a *answer) introduction(t *tool.Tools) string {
	if !a.browses(t) {
		return ""
	}
	return " Find an intent with " + toolset.Search + ", read its signature with " + toolset.Describe + ", and call it with " + toolset.Call +
		". Each intent is also a tool, which can be called by its name although it is not listed."
}

var _ toolset.Source = source{}
