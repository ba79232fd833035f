package verify

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
)

func (v *visit) serviceName(context.Context) finding {
	if v.catalog.Service.Name == "" {
		return missing("it has no name")
	}
	return good
}

func (v *visit) serviceDescription(context.Context) finding {
	var none []string
	if v.catalog.Service.Description == "" {
		none = append(none, "description")
	}
	if v.catalog.Service.URL == "" {
		none = append(none, "service_url")
	}
	if len(none) > 0 {
		return missing("%s", several(none))
	}
	return good
}

// serviceURLs judges every URL agents.json gives for the service itself.
func (v *visit) serviceURLs(context.Context) finding {
	bad := v.problems("url")
	c := v.catalog
	for _, named := range [][2]string{
		{"service_url", c.Service.URL},
		{"service_logo_url", c.Service.LogoURL},
		{"service_terms_of_service_url", c.Service.TermsURL},
		{"service_privacy_policy_url", c.Service.PrivacyURL},
		{"uim-api-discovery", c.Discovery},
		{"uim-api-execute", c.Execute},
	} {
		if _, ok := v.address(named[1]); named[1] != "" && !ok {
			bad = append(bad, named[0]+" is not https")
		}
	}
	return offenders(bad)
}

// problems are what reading agents.json found, of these kinds.
func (v *visit) problems(codes ...string) []string {
	var out []string
	for _, p := range v.told {
		if slices.Contains(codes, p.Code) {
			out = append(out, p.String())
		}
	}
	return out
}

func (v *visit) publicKey(context.Context) finding {
	v.keyText = v.catalog.PublicKey
	if v.keyText == "" {
		return missing("there is no uim-public-key")
	}
	key, err := pat.ParsePublicKey(v.keyText)
	if err != nil {
		return wrong("%v", err)
	}
	v.keys = append(v.keys, key)
	return holds("%s, thumbprint %s", key.Algorithm(), key.Thumbprint())
}

const maxKeys = 100

func (v *visit) keySet(ctx context.Context) finding {
	a, err := v.get(ctx, v.at("/.well-known/jwks.json"), maxAnswer)
	switch {
	case err != nil:
		return broken(err)
	case a.Status >= http.StatusInternalServerError:
		return failed(a)
	case a.Status != http.StatusOK:
		return missing("it answers %d", a.Status)
	}
	tree, err := strictjson.DecodeObject(a.Body)
	if err != nil {
		return wrong("%v", err)
	}
	list, ok := tree["keys"].([]any)
	if !ok || len(list) > maxKeys {
		return wrong("it has no list of keys, or more than %d", maxKeys)
	}
	usable := 0
	for i, item := range list {
		for _, private := range []string{"d", "p", "q", "dp", "dq", "qi", "k"} {
			if m, _ := item.(map[string]any); m[private] != nil {
				return wrong("key %d holds the private member %s", i, private)
			}
		}
		if key, err := pat.ParsePublicKeyValue(item); err == nil {
			v.keys = append(v.keys, key)
			usable++
		}
	}
	if usable == 0 {
		return wrong("none of its %d keys can be used", len(list))
	}
	return holds("%d keys", usable)
}

func (v *visit) keySetAgrees(context.Context) finding {
	if v.outcomes["public-key"] != Holds {
		return skipped("there is no uim-public-key to compare")
	}
	if !slices.ContainsFunc(v.keys[1:], func(k pat.Key) bool { return k.Thumbprint() == v.keys[0].Thumbprint() }) {
		return wrong("uim-public-key is not in the key set")
	}
	return good
}

func (v *visit) policyFile(context.Context) finding {
	if v.catalog.PolicyFile == "" {
		return missing("there is no uim-policy-file")
	}
	return v.ownURL("uim-policy-file", v.catalog.PolicyFile)
}

// ownURL judges a URL of the service's own: https, and at the site of agents.json.
func (v *visit) ownURL(name, s string) finding {
	u, ok := v.address(s)
	if !ok {
		return wrong("%s is no URL that an agent would ask", name)
	}
	if !v.sameSite(u.Hostname(), v.agentsURL().Hostname()) {
		return wrong("%s is at %s, agents.json at %s", name, u.Hostname(), v.agentsURL().Hostname())
	}
	return good
}

func (v *visit) endpointsSite(context.Context) finding {
	for _, named := range [][2]string{{"uim-api-discovery", v.catalog.Discovery}, {"uim-api-execute", v.catalog.Execute}} {
		if named[1] == "" {
			continue
		}
		if f := v.ownURL(named[0], named[1]); f.outcome != Holds {
			return f
		}
	}
	return good
}

func (v *visit) compliance(context.Context) finding {
	name := "uim-compliance"
	if v.tree[name] == nil && v.tree["compliance"] != nil {
		name = "compliance"
	}
	if v.tree[name] == nil {
		return missing("there is no uim-compliance")
	}
	m, ok := v.tree[name].(map[string]any)
	if !ok {
		return wrong("it is no object")
	}
	var bad []string
	if list, ok := m["standards"].([]any); m["standards"] != nil && (!ok || slices.ContainsFunc(list, notText)) {
		bad = append(bad, "standards is no list of strings")
	}
	if regions, ok := m["regional-compliance"].(map[string]any); m["regional-compliance"] != nil && !ok {
		bad = append(bad, "regional-compliance is no object")
	} else {
		for _, rule := range regions {
			if notText(rule) {
				bad = append(bad, "regional-compliance has a member that is no string")
				break
			}
		}
	}
	if m["notes"] != nil && notText(m["notes"]) {
		bad = append(bad, "notes is no string")
	}
	return offenders(bad)
}

func notText(v any) bool {
	s, ok := v.(string)
	return !ok || s == ""
}

// licenseForm is [Open-][DAMPS-]UIM-<elements>-v<version>.
var licenseForm = regexp.MustCompile(`^(?i)(Open-)?(DAMPS-)?UIM((?:-[A-Za-z]+)+)-v[0-9]+(\.[0-9]+){0,2}$`)

// licenseElements are those that UIM licenses are made of.
var licenseElements = []string{"BY", "SA", "NC", "ND", "EAU", "IO", "AIATTR", "NODM", "NOMT", "NOLTS", "BACP", "PD"}

func (v *visit) license(context.Context) finding {
	text := v.catalog.License
	if text == "" {
		return missing("there is no uim-license")
	}
	name := text
	if strings.Contains(text, "://") {
		if _, ok := v.address(text); !ok {
			return wrong("it is no https URL")
		}
		name = strings.TrimSuffix(name, "/")
		name = name[strings.LastIndexByte(name, '/')+1:]
	}
	m := licenseForm.FindStringSubmatch(name)
	if m == nil {
		return wrong("%s is not [Open-][DAMPS-]UIM-<elements>-v<version>", fmt.Sprintf("%.80q", name))
	}
	for element := range strings.SplitSeq(strings.TrimPrefix(m[3], "-"), "-") {
		if !slices.Contains(licenseElements, strings.ToUpper(element)) {
			return wrong("%q is no element of a UIM license", element)
		}
	}
	return good
}
