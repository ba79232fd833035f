package mcp

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/bindings/mcp/tool"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/toolset"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// A prompt is a template of a message that a person starts. See MCP 2026-07-28, server/prompts.
type prompt struct {
	name, title, about string
	arguments          []promptArgument
	text               func(s *service.Definition, arguments map[string]string) string
}

type promptArgument struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
}

var prompts = []prompt{
	{
		"agree", "Agree to this service", "Read the terms of the service and decide whether to agree to them.",
		[]promptArgument{{"purpose", "What you want to use the service for.", false}},
		func(s *service.Definition, arguments map[string]string) string {
			text := "Read the policy of " + s.Issuer + " in plain words at " + s.At("/policy.md") + ". " +
				"Summarize for me what it permits, what it forbids, what calls cost, and how often they may be made."
			if purpose := arguments["purpose"]; purpose != "" {
				text += " I want to use it for this: " + purpose + ". State whether the policy permits that."
			}
			return text + " Do not agree to it yourself: show me its digest, " + s.Offer().Digest + ", and the command uimgate agent agree " +
				s.PublicURL.String() + " --digest " + s.Offer().Digest + ", and wait for my decision."
		},
	},
	{
		"order_within_budget", "Order within a budget", "Make a call that costs money, but spend no more than an amount.",
		[]promptArgument{
			{"request", "What to order or to do.", true},
			{"budget", "The most that all calls together may cost, such as 5 EUR.", true},
			{"intent", "uid of the intent to use.", false},
		},
		func(s *service.Definition, arguments map[string]string) string {
			text := "With the tools of " + s.Issuer + ", do this: " + arguments["request"] + ". All calls together must not cost more than " +
				arguments["budget"] + "."
			if uid := arguments["intent"]; uid != "" {
				text += " Use the intent " + uid + "."
			} else {
				text += " Find the intent first, with " + toolset.Search + " if that tool is listed."
			}
			return text + " Before each call that is not free, show me its price and parameters and wait for my confirmation. Stop before the budget is " +
				"exceeded. At the end, list the calls with their charges, which are in the member UIM-Charge of _meta."
		},
	},
}

// maxArgument is the maximum length of an argument of a prompt, in bytes.
const maxArgument = 4000

// prompts responds to prompts/list.
func (a *answer) prompts() {
	list := make([]map[string]any, 0, len(prompts))
	for _, p := range prompts {
		list = append(list, map[string]any{"name": p.name, "title": p.title, "description": p.about, "arguments": p.arguments})
	}
	a.listing("prompts", list)
}

// prompt responds to prompts/get.
func (a *answer) prompt() {
	name, _ := a.Params["name"].(string)
	i := slices.IndexFunc(prompts, func(p prompt) bool { return p.name == name })
	if i < 0 {
		a.failed(http.StatusOK, invalidParams("Unknown prompt: "+bounded(name)+". prompts/list returns the prompts."))
		return
	}
	p, sent := &prompts[i], map[string]string{}
	given, isObject := strictjson.AsObject(a.Params["arguments"])
	if a.Params["arguments"] != nil && !isObject {
		a.failed(http.StatusOK, invalidParams("The member params.arguments must be an object."))
		return
	}
	for _, argument := range p.arguments {
		text, isText := given[argument.Name].(string)
		switch {
		case given[argument.Name] != nil && !isText, len(text) > maxArgument:
			a.failed(http.StatusOK, invalidParams("The argument "+argument.Name+" must be a string of at most 4,000 bytes."))
			return
		case text == "" && argument.Required:
			a.failed(http.StatusOK, invalidParams("The argument "+argument.Name+" is missing."))
			return
		}
		sent[argument.Name] = text
	}
	message := map[string]any{"role": "user", "content": map[string]any{"type": "text", "text": p.text(a.Service.Definition, sent)}}
	a.plain(map[string]any{"description": p.about, "messages": []any{message}})
}

// maxValues is the maximum number of values of a completion. See MCP 2026-07-28, server/utilities/completion.
const maxValues = 100

// completion responds to completion/complete. It completes uids of intents and, if the context names an intent, the values of its
// parameters that have an enum.
func (a *answer) completion() {
	argument, _ := strictjson.AsObject(a.Params["argument"])
	name, named := argument["name"].(string)
	prefix, valued := argument["value"].(string)
	reference, referred := strictjson.AsObject(a.Params["ref"])
	if !named || !valued || !referred || len(prefix) > maxArgument {
		a.failed(http.StatusOK, invalidParams("The members params.ref, params.argument.name and params.argument.value are required."))
		return
	}
	kind, _ := reference["type"].(string)
	if kind != "ref/prompt" && kind != "ref/resource" {
		a.failed(http.StatusOK, invalidParams("The member params.ref.type must be ref/prompt or ref/resource."))
		return
	}
	context, _ := strictjson.AsObject(a.Params["context"])
	others, _ := strictjson.AsObject(context["arguments"])
	values, total := []string{}, 0
	for _, value := range candidates(a.Service.Definition, name, others) {
		if strings.HasPrefix(strings.ToLower(value), strings.ToLower(prefix)) {
			if total++; len(values) < maxValues {
				values = append(values, value)
			}
		}
	}
	a.plain(map[string]any{"completion": map[string]any{"values": values, "total": total, "hasMore": total > len(values)}})
}

// candidates returns the values that an argument can have.
func candidates(s *service.Definition, name string, others strictjson.Object) (list []string) {
	if name == "intent" || name == "uid" {
		for _, in := range s.Offered() {
			list = append(list, in.ID)
		}
		return list
	}
	for _, member := range []string{"intent", "uid"} {
		uid, _ := others[member].(string)
		if in, err := s.Executable(uid); err == nil {
			if p, ok := in.Input(name); ok {
				return choices(p)
			}
		}
	}
	return nil
}

// choices returns the values of the enum of a parameter or of its items.
func choices(p *intents.Parameter) (list []string) {
	schema := map[string]any(p.Schema)
	if items, ok := schema["items"].(map[string]any); ok {
		schema = items
	}
	values, _ := schema["enum"].([]any)
	for _, v := range values {
		switch v := v.(type) {
		case string:
			list = append(list, v)
		case json.Number:
			list = append(list, v.String())
		}
	}
	return list
}

// icons returns the icons of a service: its logo, or the icon of its page.
func icons(s *service.Definition) []map[string]any {
	if logo := s.Catalog.Service.LogoURL; strings.HasPrefix(logo, "https://") {
		return []map[string]any{{"src": tool.Plain(logo, 2000)}}
	}
	return []map[string]any{{"src": s.At("/favicon.svg"), "mimeType": "image/svg+xml", "sizes": []string{"any"}}}
}
