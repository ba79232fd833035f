package pat

import "context"

// misdeclared returns the error of a request for a plan that the agreement does not declare: only what the agent signed counts.
func (i *Issuer) misdeclared(digest, plan string) error {
	return UnknownPlan(plan, i.terms.Plans(digest))
}

// endEarlierPlan makes this process refuse the PATs of the agreements that a change of the plan has ended, before it issues the PAT of a.
// If the View cannot be refreshed, its next poll does the same. In any case the store begins no call under an ended agreement.
func (i *Issuer) endEarlierPlan(ctx context.Context, a Agreement) {
	if a.Plan != "" && a.State == AgreementActive {
		_ = i.view.Refresh(ctx)
	}
}
