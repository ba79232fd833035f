package intents

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// A Dialect is the form of an agents.json.
type Dialect string

// The dialects.
const (
	Core    Dialect = "core"    // service-info, as in UIM core 5.2
	Crawler Dialect = "crawler" // the same with service_info
	Draft   Dialect = "draft"   // service, security and compliance, as in draft-uim-protocol-core-01
)

// A Service describes who offers the intents. UIM core 5.2.
type Service struct {
	Name             string `json:"name"`
	Description      string `json:"description,omitempty"`
	Version          string `json:"version,omitempty"`
	URL              string `json:"service_url,omitempty"`
	LogoURL          string `json:"service_logo_url,omitempty"`
	TermsURL         string `json:"service_terms_of_service_url,omitempty"`
	PrivacyURL       string `json:"service_privacy_policy_url,omitempty"`
	DocumentationURL string `json:"documentation_url,omitempty"`
}

// Compliance lists the rules that a service declares to follow. UIM core 5.2.
type Compliance struct {
	Standards      []string          `json:"standards,omitempty"`
	Regional       map[string]string `json:"regional-compliance,omitempty"`
	Certifications []string          `json:"certifications,omitempty"`
	Notes          string            `json:"notes,omitempty"`
}

const maxKey = 16_384 // characters of a published key

var (
	topMembers = []string{
		"service-info", "service_info", "service", "intents", "uim-public-key", "uim-policy-file", "uim-api-discovery",
		"uim-api-execute", "uim-issuer", "uim-pat-issue", "uim-pat-renew", "uim-pat-revoke", "uim-pat-introspect", "uim-jwks", "uim-openapi",
		"uim-errors", "uim-compliance", "uim-license", "security", "compliance", "$schema", "version",
	}
	serviceMembers = []string{
		"name", "description", "version", "service_url", "service_logo_url", "service_terms_of_service_url", "service_privacy_policy_url",
	}
	draftMembers = []string{"name", "description", "version", "urls", "url"}
	urlMembers   = []string{"service", "terms", "privacy", "documentation", "logo"}
)

// dialect detects the dialect of the document; false means none of those supported.
func (f *findings) dialect(tree strictjson.Object, c *Catalog) bool {
	_, intents := tree["intents"]
	if _, other := tree["agentsJson"]; other || !intents && tree["flows"] != nil && tree["sources"] != nil {
		f.list.Errorf("foreign", "",
			"this is an agents.json of the agents-json project (agentsJson, sources, flows), which describes API flows; UIM's has service-info "+
				"and intents")
		return false
	}
	found := ""
	for _, d := range []struct {
		member  string
		dialect Dialect
	}{{"service-info", Core}, {"service_info", Crawler}, {"service", Draft}} {
		if tree[d.member] == nil {
			continue
		}
		if found != "" {
			f.soft("duplicate", pointer(d.member), "%s and %s both describe the service: leave one out", found, d.member)
			continue
		}
		found, c.Dialect = d.member, d.dialect
	}
	if found == "" {
		c.Dialect = Core
		if tree["security"] != nil {
			c.Dialect = Draft
		}
		f.advise("required", "", "service-info is missing: agents cannot see whose intents these are")
	}
	f.unknown("", tree, topMembers)
	return true
}

// service reads all but the intents.
func (f *findings) service(tree strictjson.Object, c *Catalog) {
	switch c.Dialect {
	case Draft:
		f.draft(tree, c)
	case Crawler:
		f.core("service_info", tree, c)
	default:
		f.core("service-info", tree, c)
	}
	c.PublicKey = f.text("", tree, "uim-public-key", maxKey)
	c.PolicyFile = f.address("", tree, "uim-policy-file")
	c.Discovery = f.address("", tree, "uim-api-discovery")
	c.Execute = f.address("", tree, "uim-api-execute")
	c.Doors = f.doors(tree)
	c.Issuer = f.text("", tree, "uim-issuer", maxURL)
	c.License = f.text("", tree, "uim-license", maxURL)
	c.Compliance = f.compliance("uim-compliance", tree)
	if c.Dialect != Draft {
		return
	}
	if tree["uim-compliance"] == nil {
		c.Compliance = f.compliance("compliance", tree)
	}
	security := f.object("", tree, "security")
	f.unknown("/security", security, []string{"public_key", "policy_url", "supported_auth_methods"})
	if c.PublicKey == "" {
		c.PublicKey = f.text("/security", security, "public_key", maxKey)
	}
	if c.PolicyFile == "" {
		c.PolicyFile = f.address("/security", security, "policy_url")
	}
	c.AuthMethods = f.texts("/security", security, "supported_auth_methods")
}

func (f *findings) core(name string, tree strictjson.Object, c *Catalog) {
	m := f.object("", tree, name)
	if m == nil {
		return
	}
	at := pointer(name)
	f.unknown(at, m, serviceMembers)
	c.Service = Service{
		Name:        f.text(at, m, "name", maxName),
		Description: f.text(at, m, "description", maxDescription),
		Version:     f.text(at, m, "version", maxName),
		URL:         f.address(at, m, "service_url"),
		LogoURL:     f.address(at, m, "service_logo_url"),
		TermsURL:    f.address(at, m, "service_terms_of_service_url"),
		PrivacyURL:  f.address(at, m, "service_privacy_policy_url"),
	}
	if c.Service.Name == "" {
		f.soft("required", at, "name is missing")
	}
}

func (f *findings) draft(tree strictjson.Object, c *Catalog) {
	m := f.object("", tree, "service")
	if m == nil {
		return
	}
	f.unknown("/service", m, draftMembers)
	urls := f.object("/service", m, "urls")
	f.unknown("/service/urls", urls, urlMembers)
	c.Service = Service{
		Name:             f.text("/service", m, "name", maxName),
		Description:      f.text("/service", m, "description", maxDescription),
		Version:          f.text("/service", m, "version", maxName),
		URL:              f.address("/service/urls", urls, "service"),
		LogoURL:          f.address("/service/urls", urls, "logo"),
		TermsURL:         f.address("/service/urls", urls, "terms"),
		PrivacyURL:       f.address("/service/urls", urls, "privacy"),
		DocumentationURL: f.address("/service/urls", urls, "documentation"),
	}
	if c.Service.URL == "" {
		c.Service.URL = f.address("/service", m, "url")
	}
	if c.Service.Name == "" {
		f.soft("required", "/service", "name is missing")
	}
}

func (f *findings) compliance(name string, tree strictjson.Object) Compliance {
	m := f.object("", tree, name)
	if m == nil {
		return Compliance{}
	}
	at := pointer(name)
	f.unknown(at, m, []string{"standards", "regional-compliance", "regional_compliance", "certifications", "notes"})
	out := Compliance{
		Standards:      f.texts(at, m, "standards"),
		Certifications: f.texts(at, m, "certifications"),
		Notes:          f.text(at, m, "notes", maxDescription),
	}
	member := "regional-compliance"
	if m[member] == nil {
		member = "regional_compliance"
	}
	regions := f.object(at, m, member)
	for _, region := range regions.Names() {
		if len(out.Regional) == maxTags {
			f.soft("too-many", at+pointer(member), "more than %d regions", maxTags)
			break
		}
		if rule := f.text(at+pointer(member), regions, region, maxName); rule != "" {
			if out.Regional == nil {
				out.Regional = map[string]string{}
			}
			out.Regional[region] = rule
		}
	}
	return out
}

// doors reads the members that name the service in other protocols.
func (f *findings) doors(tree strictjson.Object) map[string]string {
	doors := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		value, text := tree[name].(string)
		if !text || !strings.HasPrefix(name, "uim-") || slices.Contains(topMembers, name) {
			continue
		}
		if strings.Contains(value, "://") {
			value = f.address("", tree, name)
		} else {
			value = f.text("", tree, name, maxURL)
		}
		if value != "" {
			doors[name] = value
		}
	}
	return doors
}

// address reads an optional absolute http or https URL.
func (f *findings) address(at string, m strictjson.Object, name string) string {
	s := f.text(at, m, name, maxURL)
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil {
		f.soft("url", at+"/"+strictjson.Escape(name), "%s must be an absolute http or https URL without user name", name)
		return ""
	}
	return s
}
