package pat

import "context"

// misdeclared returns the error of a request for a plan that the agreement does not declare: only what the agent signed counts.
func (i *Issuer) misdeclared(digest, plan string) error {
	return UnknownPlan(plan, i.terms.Plans(digest))
}

// endEarlierPlan refreshes the View before this process issues the PAT of a, so that this process refuses the PATs of the agreements that
// the change of the plan has ended. If the refresh fails, the next poll of the View has the same effect. In any case, the store begins no
// call under an ended agreement.
func (i *Issuer) endEarlierPlan(ctx context.Context, a Agreement) {
	if a.Plan != "" && a.State == AgreementActive {
		_ = i.view.Refresh(ctx)
	}
}
