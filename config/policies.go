package config

import "strconv"

// checkPolicies reads the policies of a service. It rejects policies that are not in the order of their dates, because the order in the
// file would then differ from the order in which they take effect.
func (l *loader) checkPolicies(path string, s *Service) {
	if len(s.Policies) == 0 {
		if l.Has(path+".policies") && !l.Has(path+".policy_file") && !l.Failed(path+".policies") {
			l.Errorf(path+".policies", "is empty: list at least one policy, or set policy_file")
			return
		}
		l.readInto(path+".policy_file", &s.PolicyFile, maxPolicyFile, false)
		return
	}
	if l.Has(path + ".policy_file") {
		l.Errorf(path+".policy_file", "policies is also set: make this file the first entry of policies, and omit policy_file")
		return
	}
	for i := range s.Policies {
		p, at := &s.Policies[i], path+".policies["+strconv.Itoa(i)+"]"
		if i == len(s.Policies)-1 {
			l.readInto(at+".file", &p.File, maxPolicyFile, false)
		} else if p.File.Path != "" {
			p.File, p.unread = l.files.load(p.File.Path, maxPolicyFile, false)
		}
		if i == 0 || l.Failed(at+".from") {
			continue
		}
		switch before := s.Policies[i-1].From; {
		case p.From.IsZero():
			l.Errorf(at+".from", "is required: the time at which the policy takes effect, such as 2026-12-01T00:00Z")
		case p.From.Equal(before):
			l.Errorf(at+".from", "the policy before it takes effect at the same time: remove one of the two")
		case p.From.Before(before):
			l.Errorf(at+".from", "is before the date of the policy before it: list the policies in the order in which they take effect")
		}
	}
}
