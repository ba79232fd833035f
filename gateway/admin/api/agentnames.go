package api

import (
	"context"
	"slices"

	"github.com/uimgate/uimgate/pat"
)

// Names returns the operator's names for agents.
type Names interface {
	// AgentNames returns the names of the agents among ids that have one.
	AgentNames(ctx context.Context, service string, ids []pat.AgentID) (map[pat.AgentID]string, error)
}

// NameOf returns the operator's name for an agent, or an empty string if it has none.
func NameOf(ctx context.Context, s Names, service string, id pat.AgentID) (string, error) {
	names, err := s.AgentNames(ctx, service, []pat.AgentID{id})
	return names[id], err
}

// AddNames adds the operator's names for agents to the items of a page. of returns the agent of an item, and the field for its name.
func AddNames[T any](ctx context.Context, s Names, service string, page Page[T], of func(*T) (pat.AgentID, *string)) (Page[T], error) {
	var ids []pat.AgentID
	for i := range page.Items {
		id, _ := of(&page.Items[i])
		ids = append(ids, id)
	}
	slices.Sort(ids)
	names, err := s.AgentNames(ctx, service, slices.Compact(ids))
	for i := range page.Items {
		id, name := of(&page.Items[i])
		*name = names[id]
	}
	return page, err
}
