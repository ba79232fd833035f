package consent

import (
	"context"
	"errors"
	"slices"

	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// planned returns the part of the requested entries that a consent can cover under some plan of the policy, or without one, and sets the
// plans of r. If no plan covers any entry, planned returns the error for a consent without a plan.
func planned(
	ctx context.Context, c agree.Call, r *Request, requested []string, spends func(intent, currency string) bool,
) (pat.Scope, error) {
	all, err := c.Service.Issuance.ConsentScope(ctx, requested, "", spends)
	r.NoPlan = err == nil
	for _, plan := range c.Service.Policy.Plans() {
		one, failed := c.Service.Issuance.ConsentScope(ctx, requested, plan, spends)
		if failed != nil {
			continue
		}
		r.Plans = append(r.Plans, plan)
		if err != nil {
			all, err = one, nil
			continue
		}
		for _, entry := range one.Entries {
			if !slices.Contains(all.Entries, entry) {
				all.Entries = append(all.Entries, entry)
			}
			all.Omitted = slices.DeleteFunc(all.Omitted, func(o pat.OmittedEntry) bool { return o.Entry == entry })
		}
		all.Charges = all.Charges || one.Charges
	}
	return all, err
}

// planHolder returns the agent of the last consent that a browser gave for the client of r, if the policy has plans. A person who consents
// again thereby keeps the counters, and a new plan ends the earlier one, as for an agent with a key. Otherwise a person could use a free
// plan several times. It returns an empty id if the consent does not exist.
func (d *Service) planHolder(ctx context.Context, c agree.Call, r *Request, browser string) (pat.AgentID, error) {
	if len(c.Service.Policy.Plans()) == 0 {
		return "", nil
	}
	kept, err := d.store.LastConsent(ctx, c.Service.ID, browser, r.Client.ID)
	var a pat.Agreement
	if err == nil {
		a, err = d.store.Agreement(ctx, c.Service.ID, kept.AgreementID)
	}
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, pat.ErrNotFound) {
		return "", nil
	}
	return a.AgentID, err
}
