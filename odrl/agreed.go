package odrl

// AsAgreed returns a policy from Load in the form in which it binds once it has been agreed: an Offer, a Request or an Assertion grants its
// permissions, and a policy that another one replaces remains valid. Any other policy is returned unchanged.
func (p *Policy) AsAgreed() *Policy {
	if p.program != nil || p.form.Grants() && p.form.ReplacedBy == "" {
		return p
	}
	form := *p.form
	form.Types, form.ReplacedBy = []string{"Set"}, ""
	return &Policy{form: &form, document: p.document, warnings: p.warnings, evaluation: newEvaluation(&form, nil)}
}
