package mrp

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/bindings/mcp/tool"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/strictjson"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// The door's own actions. The uid of an intent is also an action.
const (
	actionSearch  = "uim:search"
	actionPolicy  = "uim:policy"
	actionAgree   = "uim:agree"
	actionRenew   = "uim:renew"
	actionExecute = "uim:execute"
)

// tagForm is the form of the tags that relays accept.
var tagForm = regexp.MustCompile(`^[A-Za-z0-9_:.-]{1,64}$`)

// profileOf returns the profile of a service at a relay.
func profileOf(s *service.Service) wire.Change {
	set := SettingsOf(s.Definition)
	name := strings.Map(func(r rune) rune {
		if wire.Shown(string(r)) {
			return r
		}
		return ' '
	}, cmp.Or(set.AgentName, s.Catalog.Service.Name))
	if runes := []rune(name); len(runes) > wire.MaxDisplayName {
		name = string(runes[:wire.MaxDisplayName])
	}
	c := wire.Change{DisplayName: &name, Visibility: wire.Public, Capabilities: capabilities(s)}
	if set.Visibility == Private {
		c.Visibility = wire.Private
	}
	return c
}

// own lists the capabilities that every service has.
var own = []wire.Capability{
	ability(actionSearch, "Search the intents of this service. The result has intents, with their parameters, and a cursor if there are more.",
		`{"query":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}},"cursor":{"type":"string"}}`, `[]`),
	ability(actionPolicy, "Read the terms of use, an ODRL policy. The result has uid, digest, issuer, issue_url and document.", `{}`, `[]`),
	ability(actionAgree, "Agree to the policy with a JWS of type uim-agreement+jwt, signed with your key. The result has a token in pat.",
		`{"agreement":{"type":"string"},"scope":{"type":"array","items":{"type":"string"}}}`, `["agreement"]`),
	ability(actionRenew, "Exchange a token for one that expires later. The result has the new token in pat.",
		`{"pat":{"type":"string"},"proof":{"type":"string"}}`, `["pat"]`),
	ability(actionExecute, "Call an intent. The result has output, charge and rate_limit. You can also use the uid of an intent as the action, with uim_pat next to params.",
		`{"intent_uid":{"type":"string"},"parameters":{"type":"object"},"pat":{"type":"string"},"proof":{"type":"string"},`+
			`"idempotency_key":{"type":"string"}}`, `["intent_uid","pat"]`),
}

// ability returns the capability for one of the door's own actions. properties holds the JSON Schemas of its parameters, and required is
// the JSON list of the parameters that are required.
func ability(name, description, properties, required string) wire.Capability {
	return wire.Capability{
		Name: name, Description: description, Tags: []string{"uim", name}, Version: "1",
		InputSchema: []byte(`{"type":"object","properties":` + properties + `,"required":` + required + `,"additionalProperties":false}`),
	}
}

// capabilities returns the capabilities in the profile of a service: the door's own actions, then as many intents as a profile can hold. It
// omits intents whose ids are too long for a profile.
func capabilities(s *service.Service) []wire.Capability {
	list := slices.Clone(own)
	for _, in := range s.Offered() {
		if len(list) == wire.MaxCapability {
			break
		}
		if len(in.ID) > wire.MaxName {
			continue
		}
		c := wire.Capability{
			Name: in.ID, Description: tool.Plain(cmp.Or(in.Description, in.Name), wire.MaxDescription), Tags: []string{}, Version: in.UID.Version,
		}
		for _, tag := range in.Tags {
			if tagForm.MatchString(tag) && len(c.Tags) < wire.MaxTags {
				c.Tags = append(c.Tags, tag)
			}
		}
		if text, err := strictjson.Append(nil, map[string]any(in.InputSchema())); err == nil && len(text) <= wire.MaxSchema {
			c.InputSchema = text
		}
		list = append(list, c)
	}
	return list
}

// help returns a description, in plain text, of the service and of the requests that the service accepts.
func help(s *service.Service) string {
	about := s.Catalog.Service
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(tool.Plain(about.Name+": "+about.Description, wire.MaxDescription), ":"))
	b.WriteString("\n\nThis agent accepts requests: messages of type " + wire.TypeRequest +
		" with an action and params. Its actions are:\n")
	list := capabilities(s)
	for _, c := range list {
		b.WriteString("- " + c.Name + ": " + strings.ReplaceAll(c.Description, "\n", " ") + "\n")
	}
	if more := len(s.Offered()) - (len(list) - len(own)); more > 0 {
		b.WriteString("Use " + actionSearch + " to find more intents.\n")
	}
	b.WriteString("For example: " + `{"action":"` + actionSearch + `","params":{"query":"` + exampleQuery(s) + `"}}` +
		"\nBefore the first call, read the policy (" + actionPolicy + ") and agree to it (" + actionAgree + ").")
	return b.String()
}

// exampleQuery returns a word to search for: the name of an intent, or "" if the service offers none.
func exampleQuery(s *service.Service) string {
	for _, in := range s.Offered() {
		return in.UID.Name
	}
	return ""
}
