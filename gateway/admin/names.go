package admin

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/pat"
)

// maxName is the maximum length of the name of an agent, in characters.
const maxName = 200

// An AgentName is the operator's name for an agent, such as the customer that the agent acts for. Names need not be unique.
type AgentName struct {
	Record `json:"-"`
	Name   string `json:"name,omitempty"` // empty: remove the name
}

func (n *AgentName) members(m *wire.Members) error {
	n.Name = m.Text("name", false)
	return m.Done()
}

// NameAgent sets the name of an agent.
func (o *Operator) NameAgent(ctx context.Context, n AgentName) (Agent, error) {
	service, err := o.service(n.Service)
	if err != nil {
		return Agent{}, err
	}
	if why := nameFault(n.Name); why != "" {
		return Agent{}, wrongMember("name", why)
	}
	if err := o.store.NameAgent(ctx, service.ID, pat.AgentID(n.ID), n.Name); err != nil {
		return Agent{}, err
	}
	return o.Agent(ctx, n.Record)
}

// nameFault returns the reason why a name is invalid, or an empty string if it is valid. In tables and invoices, a name must not break the
// line, reorder the surrounding text or contain invisible characters.
func nameFault(name string) string {
	switch {
	case !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxName:
		return "must be UTF-8 text of at most 200 characters"
	case name != "" && strings.TrimSpace(name) != name:
		return "must not begin or end with a space"
	case strings.ContainsFunc(name, func(r rune) bool {
		return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs) || r == unicode.ReplacementChar
	}):
		return "must not contain control characters, invisible characters, or characters that change the direction of text"
	}
	return ""
}

// agentName returns the operator's name for an agent, or an empty string if it has none.
func (o *Operator) agentName(ctx context.Context, service string, id pat.AgentID) (string, error) {
	names, err := o.store.AgentNames(ctx, service, []pat.AgentID{id})
	return names[id], err
}

// named adds the operator's names for agents to the items of a page. of returns the agent of an item, and the field for its name.
func named[T any](ctx context.Context, o *Operator, service string, page Page[T], of func(*T) (pat.AgentID, *string)) (Page[T], error) {
	var ids []pat.AgentID
	for i := range page.Items {
		id, _ := of(&page.Items[i])
		ids = append(ids, id)
	}
	slices.Sort(ids)
	names, err := o.store.AgentNames(ctx, service, slices.Compact(ids))
	for i := range page.Items {
		id, name := of(&page.Items[i])
		*name = names[id]
	}
	return page, err
}
