package odrl

// AsAgreed returns p, a policy from Load, as it binds after an agreement. An Offer, a Request or an Assertion then grants its permissions,
// and a policy that another one replaces remains valid. If neither applies, or if p is not from Load, AsAgreed returns p itself.
func (p *Policy) AsAgreed() *Policy {
	if p.program != nil || p.form.Grants() && p.form.ReplacedBy == "" {
		return p
	}
	form := *p.form
	form.Types, form.ReplacedBy = []string{"Set"}, ""
	return &Policy{form: &form, document: p.document, warnings: p.warnings, evaluation: newEvaluation(&form, nil)}
}
