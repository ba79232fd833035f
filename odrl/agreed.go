package odrl

// AsAgreed returns a policy from Load as it binds once it is agreed to and in force: an Offer, a Request or an Assertion grants its
// permissions, and a policy that is replaced is not void. Any other policy is returned unchanged.
func (p *Policy) AsAgreed() *Policy {
	if p.program != nil || p.form.Grants() && p.form.ReplacedBy == "" {
		return p
	}
	form := *p.form
	form.Types, form.ReplacedBy = []string{"Set"}, ""
	return &Policy{form: &form, document: p.document, warnings: p.warnings, evaluation: newEvaluation(&form, nil)}
}
