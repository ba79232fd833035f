package consent

import (
	"context"
	"slices"

	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/pat"
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
