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

// maxName bounds the name of an agent, in characters.
const maxName = 200

// An AgentName is the operator's name for an agent, such as the customer it acts for. Names need not differ.
type AgentName struct {
	Record `json:"-"`
	Name   string `json:"name"` // empty: remove the name
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

// nameFault returns what is wrong with a name for tables and invoices: it must not break a line, reorder the surrounding text or be
// invisible.
func nameFault(name string) string {
	switch {
	case !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxName:
		return "must be UTF-8 text of at most 200 characters"
	case name != "" && strings.TrimSpace(name) != name:
		return "must not begin or end with a space"
	case strings.ContainsFunc(name, func(r rune) bool {
		return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs) || r == unicode.ReplacementChar
	}):
		return "must not hold control characters, nor such as change the direction of text or cannot be seen"
	}
	return ""
}

// named adds the names of agents to the records of a page.
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
