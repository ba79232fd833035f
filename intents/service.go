package intents

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/intents/finding"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// A Dialect is the form of an agents.json.
type Dialect string

// The dialects.
const (
	Core    Dialect = "core"    // service-info, as in UIM core 5.2
	Crawler Dialect = "crawler" // like Core, but with service_info
	Draft   Dialect = "draft"   // service, security and compliance, as in draft-uim-protocol-core-01
)

// A Service describes the provider of the intents. See UIM core, section 5.2.
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

// Compliance lists the rules that a service claims to follow. See UIM core, section 5.2.
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
		"uim-errors", "uim-protocol", "uim-receipts", "uim-usage", "uim-balance", "uim-log", "uim-log-key", "uim-mmd", "uim-plans", "uim-credit",
		"uim-compliance", "uim-license", "security", "compliance", "policy_successor", "$schema", "version",
	}
	serviceMembers = []string{
		"name", "description", "version", "service_url", "service_logo_url", "service_terms_of_service_url", "service_privacy_policy_url",
	}
	draftMembers = []string{"name", "description", "version", "urls", "url"}
	urlMembers   = []string{"service", "terms", "privacy", "documentation", "logo"}
)

// dialect detects the dialect of the document. It returns false if the document is an agents.json of another project.
func (f *reader) dialect(tree strictjson.Object, c *Catalog) bool {
	_, intents := tree["intents"]
	if _, other := tree["agentsJson"]; other || !intents && tree["flows"] != nil && tree["sources"] != nil {
		f.Problems.Errorf("foreign", "",
			"this agents.json is in the format of the agents-json project (agentsJson, sources, flows), which describes API flows; UIM requires "+
				"service-info and intents")
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
			f.Soft("duplicate", finding.Pointer(d.member), "%s and %s both describe the service: remove one of them", found, d.member)
			continue
		}
		found, c.Dialect = d.member, d.dialect
	}
	if found == "" {
		c.Dialect = Core
		if tree["security"] != nil {
			c.Dialect = Draft
		}
		f.Advise("required", "", "service-info is missing: agents cannot see whose intents these are")
	}
	f.Unknown("", tree, topMembers)
	return true
}

// service reads all members except the intents into c.
func (f *reader) service(tree strictjson.Object, c *Catalog) {
	switch c.Dialect {
	case Draft:
		f.draft(tree, c)
	case Crawler:
		f.core("service_info", tree, c)
	default:
		f.core("service-info", tree, c)
	}
	c.PublicKey = f.Text("", tree, "uim-public-key", maxKey)
	c.PolicyFile = f.address("", tree, "uim-policy-file")
	c.Discovery = f.address("", tree, "uim-api-discovery")
	c.Execute = f.address("", tree, "uim-api-execute")
	c.Keys = f.address("", tree, "uim-jwks")
	c.Evidence = Evidence{
		Receipts: f.address("", tree, "uim-receipts"), Usage: f.address("", tree, "uim-usage"),
		Balance: f.address("", tree, "uim-balance"), Log: f.address("", tree, "uim-log"),
		LogKey: f.Text("", tree, "uim-log-key", maxURL),
	}
	c.Doors = f.doors(tree)
	c.Issuer = f.Text("", tree, "uim-issuer", maxURL)
	c.License = f.Text("", tree, "uim-license", maxURL)
	c.Compliance = f.compliance("uim-compliance", tree)
	c.Successor = f.successor(tree)
	c.Plans = f.plans(tree)
	if c.Dialect != Draft {
		return
	}
	if tree["uim-compliance"] == nil {
		c.Compliance = f.compliance("compliance", tree)
	}
	security := f.Object("", tree, "security")
	f.Unknown("/security", security, []string{"public_key", "policy_url", "supported_auth_methods"})
	if c.PublicKey == "" {
		c.PublicKey = f.Text("/security", security, "public_key", maxKey)
	}
	if c.PolicyFile == "" {
		c.PolicyFile = f.address("/security", security, "policy_url")
	}
	c.AuthMethods = f.Texts("/security", security, "supported_auth_methods")
}

// successor reads policy_successor, which a gateway publishes. It returns nil if a member is missing or not valid.
func (f *reader) successor(tree strictjson.Object) *PolicySuccessor {
	const name = "policy_successor"
	m := f.Object("", tree, name)
	if m == nil {
		return nil
	}
	at := finding.Pointer(name)
	s := &PolicySuccessor{
		UID: f.Text(at, m, "uid", maxURL), Digest: f.Text(at, m, "digest", maxName), URL: f.address(at, m, "url"),
	}
	from, err := time.Parse(time.RFC3339, f.Text(at, m, "from", maxName))
	if s.From = from; err != nil || s.Digest == "" || s.URL == "" {
		return nil
	}
	return s
}

func (f *reader) core(name string, tree strictjson.Object, c *Catalog) {
	m := f.Object("", tree, name)
	if m == nil {
		return
	}
	at := finding.Pointer(name)
	f.Unknown(at, m, serviceMembers)
	c.Service = Service{
		Name:        f.Text(at, m, "name", maxName),
		Description: f.Text(at, m, "description", maxDescription),
		Version:     f.Text(at, m, "version", maxName),
		URL:         f.address(at, m, "service_url"),
		LogoURL:     f.address(at, m, "service_logo_url"),
		TermsURL:    f.address(at, m, "service_terms_of_service_url"),
		PrivacyURL:  f.address(at, m, "service_privacy_policy_url"),
	}
	if c.Service.Name == "" {
		f.Soft("required", at, "name is missing")
	}
}

func (f *reader) draft(tree strictjson.Object, c *Catalog) {
	m := f.Object("", tree, "service")
	if m == nil {
		return
	}
	f.Unknown("/service", m, draftMembers)
	urls := f.Object("/service", m, "urls")
	f.Unknown("/service/urls", urls, urlMembers)
	c.Service = Service{
		Name:             f.Text("/service", m, "name", maxName),
		Description:      f.Text("/service", m, "description", maxDescription),
		Version:          f.Text("/service", m, "version", maxName),
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
		f.Soft("required", "/service", "name is missing")
	}
}

func (f *reader) compliance(name string, tree strictjson.Object) Compliance {
	m := f.Object("", tree, name)
	if m == nil {
		return Compliance{}
	}
	at := finding.Pointer(name)
	f.Unknown(at, m, []string{"standards", "regional-compliance", "regional_compliance", "certifications", "notes"})
	out := Compliance{
		Standards:      f.Texts(at, m, "standards"),
		Certifications: f.Texts(at, m, "certifications"),
		Notes:          f.Text(at, m, "notes", maxDescription),
	}
	member := "regional-compliance"
	if m[member] == nil {
		member = "regional_compliance"
	}
	regions := f.Object(at, m, member)
	for _, region := range regions.Names() {
		if len(out.Regional) == finding.MaxTags {
			f.Soft("too-many", at+finding.Pointer(member), "there are more than %d regions", finding.MaxTags)
			break
		}
		if rule := f.Text(at+finding.Pointer(member), regions, region, maxName); rule != "" {
			if out.Regional == nil {
				out.Regional = map[string]string{}
			}
			out.Regional[region] = rule
		}
	}
	return out
}

// doors reads the members that locate the service in other protocols.
func (f *reader) doors(tree strictjson.Object) map[string]string {
	doors := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		value, text := tree[name].(string)
		if !text || !strings.HasPrefix(name, "uim-") || slices.Contains(topMembers, name) {
			continue
		}
		if strings.Contains(value, "://") {
			value = f.address("", tree, name)
		} else {
			value = f.Text("", tree, name, maxURL)
		}
		if value != "" {
			doors[name] = value
		}
	}
	return doors
}

// address reads an optional absolute http or https URL. It returns "" if the member is missing or invalid; the latter is a problem.
func (f *reader) address(at string, m strictjson.Object, name string) string {
	s := f.Text(at, m, name, maxURL)
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil {
		f.Soft("url", at+"/"+strictjson.Escape(name), "%s must be an absolute http or https URL without user name", name)
		return ""
	}
	return s
}
