package catalogue

import (
	"context"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/page"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/pat"
)

// The states of an intent.
const (
	IntentOffered = "offered"
	IntentClosed  = "closed" // the policy permits it to no agent
	IntentStopped = "stopped"
	IntentRetired = "retired"
)

// A CatalogueItem is an intent of a service, with its terms and its use.
type CatalogueItem struct {
	Intent      string `json:"intent"` // uid
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Terms are the price and the limits in words, for agents that the policy does not name.
	Terms string `json:"terms,omitempty"`
	Safe  bool   `json:"safe"`  // a call changes nothing
	State string `json:"state"` // IntentOffered, IntentClosed, IntentStopped or IntentRetired
	Why   string `json:"why,omitempty"`
	// Calls, Refused and Failed count the calls of this process in the last 24 hours. Refused and Failed are parts of Calls.
	Calls   int64 `json:"calls"`
	Refused int64 `json:"refused"`
	Failed  int64 `json:"failed"`
}

// A CatalogueQuery selects intents of a service, in the order of its agents.json.
type CatalogueQuery struct {
	Service string `query:"service"` // id; empty: the only service
	api.PageRequest
	Search string `query:"search"` // a part of the uid or the name, in any case; empty: all
}

// Catalogue lists the intents of a service. The cursor is the uid of the last intent of the previous page.
func (o *Operations) Catalogue(ctx context.Context, s *service.Service, q CatalogueQuery) (api.Page[CatalogueItem], error) {
	list := s.Catalog.Intents()
	if q.After != "" {
		i := slices.IndexFunc(list, func(in *intents.Intent) bool { return in.UID.String() == q.After })
		if i < 0 {
			return api.Page[CatalogueItem]{}, api.WrongParameter("after", "must be the value of next in the previous page")
		}
		list = list[i+1:]
	}
	out := api.Page[CatalogueItem]{Items: []CatalogueItem{}}
	search := strings.ToLower(q.Search)
	for _, in := range list {
		if !strings.Contains(strings.ToLower(in.UID.String()), search) && !strings.Contains(strings.ToLower(in.Name), search) {
			continue
		}
		if len(out.Items) == q.Max() {
			out.Next = out.Items[len(out.Items)-1].Intent
			break
		}
		out.Items = append(out.Items, o.catalogueItem(ctx, s, in))
	}
	return out, nil
}

func (o *Operations) catalogueItem(ctx context.Context, s *service.Service, in *intents.Intent) CatalogueItem {
	item := CatalogueItem{
		Intent: in.UID.String(), Name: in.Name, Description: in.Description, Safe: in.Safe, State: IntentOffered,
	}
	if one, err := s.Intent(item.Intent); err == nil {
		item.Terms = page.ShortTerms(ctx, s.Definition, one)
	}
	callable, why := s.Callable(ctx, item.Intent)
	stop, stopped := o.View.StopOf(s.ID, pat.StopIntent, item.Intent)
	switch {
	case in.Retired:
		item.State = IntentRetired
	case stopped:
		item.State, item.Why = IntentStopped, stop.Reason
	case !callable:
		item.State, item.Why = IntentClosed, why
	}
	if o.Intents != nil {
		use := o.Intents.Use(s.ID, item.Intent)
		item.Calls, item.Refused, item.Failed = use.Calls, use.Refused, use.Failed
	}
	return item
}
