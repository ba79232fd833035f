package verify

import (
	"context"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/intents"
)

func (v *verification) serviceName(context.Context) finding {
	if v.Catalog.Service.Name == "" {
		return missing("it has no name")
	}
	return pass
}

func (v *verification) serviceDescription(context.Context) finding {
	var none []string
	if v.Catalog.Service.Description == "" {
		none = append(none, "description")
	}
	if v.Catalog.Service.URL == "" {
		none = append(none, "service_url")
	}
	if len(none) > 0 {
		return missing("%s", point.Summary(none))
	}
	return pass
}

// serviceURLs checks every URL of the service in agents.json.
func (v *verification) serviceURLs(context.Context) finding {
	bad := v.problemsOf("url")
	c := v.Catalog
	for _, named := range [][2]string{
		{"service_url", c.Service.URL},
		{"service_logo_url", c.Service.LogoURL},
		{"service_terms_of_service_url", c.Service.TermsURL},
		{"service_privacy_policy_url", c.Service.PrivacyURL},
		{"uim-api-discovery", c.Discovery},
		{"uim-api-execute", c.Execute},
	} {
		if _, ok := v.Address(named[1]); named[1] != "" && !ok {
			bad = append(bad, named[0]+" is not https")
		}
	}
	return point.WrongIfAny(bad)
}

// problemsOf returns the problems with these codes that were found when agents.json was parsed.
func (v *verification) problemsOf(codes ...string) []string {
	var out []string
	for _, p := range v.problems {
		if slices.Contains(codes, p.Code) {
			out = append(out, p.String())
		}
	}
	return out
}

func (v *verification) policyFile(context.Context) finding {
	if v.Catalog.PolicyFile == "" {
		return missing("uim-policy-file is missing")
	}
	return v.OwnURL("uim-policy-file", v.Catalog.PolicyFile)
}

func (v *verification) endpointsSite(context.Context) finding {
	for _, named := range [][2]string{{"uim-api-discovery", v.Catalog.Discovery}, {"uim-api-execute", v.Catalog.Execute}} {
		if named[1] == "" {
			continue
		}
		if f := v.OwnURL(named[0], named[1]); f.Outcome != Holds {
			return f
		}
	}
	return pass
}

func (v *verification) compliance(context.Context) finding {
	name := "uim-compliance"
	if v.Named[name] == nil && v.Named["compliance"] != nil {
		name = "compliance"
	}
	if v.Named[name] == nil {
		return missing("uim-compliance is missing")
	}
	m, ok := v.Named[name].(map[string]any)
	if !ok {
		return wrong("it is not an object")
	}
	var bad []string
	if list, ok := m["standards"].([]any); m["standards"] != nil && (!ok || slices.ContainsFunc(list, isNoText)) {
		bad = append(bad, "standards is not a list of non-empty strings")
	}
	if regions, ok := m["regional-compliance"].(map[string]any); m["regional-compliance"] != nil && !ok {
		bad = append(bad, "regional-compliance is not an object")
	} else {
		for _, rule := range regions {
			if isNoText(rule) {
				bad = append(bad, "regional-compliance has a member that is not a string, or is empty")
				break
			}
		}
	}
	if m["notes"] != nil && isNoText(m["notes"]) {
		bad = append(bad, "notes is not a string, or is empty")
	}
	return point.WrongIfAny(bad)
}

func isNoText(v any) bool {
	s, ok := v.(string)
	return !ok || s == ""
}

func (v *verification) license(context.Context) finding {
	text := v.Catalog.License
	if text == "" {
		return missing("uim-license is missing")
	}
	if _, ok := v.Address(text); strings.Contains(text, "://") && !ok {
		return wrong("it is not an https URL")
	}
	if _, err := intents.ParseLicense(text); err != nil {
		return wrong("%v", err)
	}
	return pass
}
