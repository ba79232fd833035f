package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/toolset"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/suggest"
)

// listUpTo is the maximum number of intents, over all services, for which the list has one tool each, unless the owner chooses.
const listUpTo = 40

// choose returns the tools for the list: those that the owner chose or, without a choice, all of them if there are at most listUpTo.
// Otherwise browses is true, and the list has tools to search for intents. Tools outside the list can be called too.
func (b *Bridge) choose(tools map[string]tool) (list map[string]tool, browses bool) {
	if b.o.Tools.Searches(len(tools), listUpTo) {
		return nil, true
	}
	list = map[string]tool{}
	for name, t := range tools {
		if b.o.Tools.Lists(t.intent) {
			list[name] = t
		}
	}
	return list, false
}

// showBrowsing adds the tools that search, describe and call intents to the list. n is the number of intents.
func (b *Bridge) showBrowsing(n int) {
	about := "the services"
	if len(b.services) == 1 {
		about = oneLine(b.services[0].target, maxTitle)
	}
	for _, text := range toolset.Tools(about, n) {
		described := &mcp.Tool{}
		if err := json.Unmarshal(text, described); err != nil { // the texts are constants
			b.o.Log(err.Error())
			continue
		}
		if b.shown[described.Name] == string(text) {
			continue
		}
		b.shown[described.Name] = string(text)
		b.server.AddTool(described, b.handled)
	}
}

// A source searches the catalogs of all services. It implements toolset.Source.
type source struct{ *Bridge }

// Find implements toolset.Source: it takes the best matches of each service in turn.
func (b source) Find(q intents.Query) (found []toolset.Entry, total int) {
	b.mu.Lock()
	names := make(map[*intents.Intent]string, len(b.tools))
	for name, t := range b.tools {
		names[t.intent] = name
	}
	b.mu.Unlock()
	var lists [][]toolset.Entry
	for _, s := range b.services {
		_, catalog, _, _ := s.state()
		if catalog == nil {
			continue
		}
		page := catalog.Search(q)
		total += page.TotalResults
		var list []toolset.Entry
		for _, in := range page.Intents {
			if name, offered := names[in]; offered {
				list = append(list, b.entry(name, tool{s, in}))
			}
		}
		lists = append(lists, list)
	}
	for i := 0; len(found) < q.PageSize; i++ {
		before := len(found)
		for _, list := range lists {
			if i < len(list) && len(found) < q.PageSize {
				found = append(found, list[i])
			}
		}
		if len(found) == before {
			break
		}
	}
	return found, total
}

// Lookup implements toolset.Source.
func (b source) Lookup(id string) (e toolset.Entry, nearest string, ok bool) {
	name, ok := b.toolName(id)
	if !ok {
		return toolset.Entry{}, suggest.Name(id, b.toolNames()), false
	}
	b.mu.Lock()
	t := b.tools[name]
	b.mu.Unlock()
	return b.entry(name, t), "", true
}

// entry returns an intent with its terms. Its id is the name of the tool if there are several services, because they may have the same
// uid.
func (b *Bridge) entry(name string, t tool) toolset.Entry {
	uid := t.intent.UID.String()
	_, _, _, terms := t.of.state()
	e := toolset.Entry{ID: uid, Intent: t.intent, Terms: terms.Intents[uid].Words, Left: t.of.left(t.intent.UID)}
	if len(b.services) > 1 {
		e.ID = name
	}
	return e
}

// browse responds to a call to search_intents or describe_intents.
func (b *Bridge) browse(p *mcp.CallToolParamsRaw) *mcp.CallToolResult {
	arguments, err := argumentsOf(p)
	var texts []string
	if err == nil && p.Name == toolset.Search {
		var found []byte
		found, err = toolset.Find(source{b}, arguments)
		texts = []string{string(found)}
	} else if err == nil {
		texts, err = toolset.Signatures(source{b}, arguments)
	}
	if err != nil {
		return invalidArguments(err)
	}
	result := &mcp.CallToolResult{}
	for _, text := range texts {
		result.Content = append(result.Content, &mcp.TextContent{Text: text})
	}
	return result
}

// through replaces a call to call_intent with the call to the tool that it names.
func (b *Bridge) through(p *mcp.CallToolParamsRaw) error {
	arguments, err := argumentsOf(p)
	if err != nil {
		return err
	}
	id, parameters, err := toolset.ParseCall(arguments)
	if err != nil {
		return err
	}
	name, known := b.toolName(id)
	if !known {
		return &toolset.ArgumentError{Message: b.unknownTool(id).Error()}
	}
	text, err := strictjson.Append(nil, parameters)
	if err != nil {
		return errors.New("the parameters could not be encoded")
	}
	p.Name, p.Arguments = name, text
	return nil
}

// argumentsOf decodes the arguments of a call, which may be absent.
func argumentsOf(p *mcp.CallToolParamsRaw) (strictjson.Object, error) {
	if len(p.Arguments) == 0 || slices.Equal(p.Arguments, []byte("null")) {
		return strictjson.Object{}, nil
	}
	arguments, err := strictjson.DecodeObject(p.Arguments)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", agent.ErrParameters, err)
	}
	return arguments, nil
}

// invalidArguments returns the error of a call whose arguments the bridge itself refuses.
func invalidArguments(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: oneLine(err.Error(), maxNote)}}}
}
