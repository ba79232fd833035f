package config

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/oidc"
	"github.com/uimgate/uimgate/internal/yamlconf"
)

// OIDC configures how people sign in to the console through an OpenID Connect provider. It is off if Issuer is empty.
type OIDC struct {
	// Issuer is a string, because it must equal the issuer of the provider to the byte.
	Issuer       string    `yaml:"issuer" example:"https://id.shop.example/realms/staff" doc:"The issuer of the provider, exactly as the provider publishes it. https, or http on this machine. Not set: people cannot sign in this way."`
	ClientID     string    `yaml:"client_id" example:"uimgate" doc:"The id of this gateway at the provider. Required with issuer."`
	ClientSecret Secret    `yaml:"client_secret" example:"${file:/run/secrets/oidc}" doc:"The secret of this client. Required with issuer."`
	Scopes       []string  `yaml:"scopes" max:"32" doc:"Scopes to request in addition to openid. Some providers send groups only with the scope groups. Default: profile and email."`
	Claim        string    `yaml:"claim" doc:"The claim with the groups or roles of a person: a name, or a JSON pointer such as /realm_access/roles. Default: groups and roles."`
	Roles        OIDCRoles `yaml:"roles" doc:"Which values of the claim give which role. If several match, the highest role counts: viewer, operator, billing, admin. Other people cannot sign in."`
	Redirect     *url.URL  `yaml:"redirect" doc:"The URL of this console to which the provider sends browsers back. It ends with /console/oidc, and must be registered with the provider. Default: /console/oidc of the admin listener, with the first of admin.hosts if the listener has TLS."`
	Private      bool      `yaml:"private" default:"false" doc:"Permit http and addresses that are not on the public internet."`
	Roots        File      `yaml:"roots" doc:"PEM file with the CA certificates to trust in connections to the provider. Default: the CA certificates of the system."`
}

// OIDCRoles has the values of the claim for each role.
type OIDCRoles struct {
	Viewer   []string `yaml:"viewer" max:"100" doc:"Values that give the role viewer."`
	Operator []string `yaml:"operator" max:"100" doc:"Values that give the role operator."`
	Billing  []string `yaml:"billing" max:"100" doc:"Values that give the role billing."`
	Admin    []string `yaml:"admin" max:"100" doc:"Values that give the role admin."`
}

// OIDCPath is the path of OIDC.Redirect.
const OIDCPath = "/console/oidc"

// ordered returns the roles from the lowest to the highest.
func (r *OIDCRoles) ordered() []oidc.Role {
	return []oidc.Role{{Name: "viewer", Values: r.Viewer}, {Name: "operator", Values: r.Operator}, {Name: "billing", Values: r.Billing}, {
		Name: "admin", Values: r.Admin,
	}}
}

// Options returns the options of the provider. redirect is the URL of the console to which the provider sends browsers back if Redirect is
// not set.
func (o *OIDC) Options(redirect *url.URL, now func() time.Time) oidc.Options {
	if o.Redirect != nil {
		redirect = o.Redirect
	}
	return oidc.Options{
		Issuer: o.Issuer, ClientID: o.ClientID, ClientSecret: o.ClientSecret.Reveal(), Scopes: o.Scopes, Claim: o.Claim,
		Roles: o.Roles.ordered(), Redirect: redirect, Private: o.Private, Roots: poolOf(o.Roots), Now: now,
	}
}

// usualScopes are the scopes with which providers send the name of a person.
var usualScopes = []string{"profile", "email"}

func (l *loader) checkOIDC(a *Admin) {
	const at = "admin.oidc"
	o := &a.OIDC
	roles := 0
	for _, r := range o.Roles.ordered() {
		roles += len(r.Values)
	}
	if o.Issuer == "" {
		if o.ClientID != "" || !o.ClientSecret.IsEmpty() || len(o.Scopes) > 0 || o.Claim != "" || roles > 0 || o.Redirect != nil || o.Private ||
			o.Roots.Path != "" {
			l.Errorf(at+".issuer", "is required with the other settings of admin.oidc: set the issuer of the provider")
		}
		return
	}
	l.checkIssuer(at+".issuer", o)
	if (o.ClientID == "" || len(o.ClientID) > longToken || !printable(o.ClientID)) && !l.Failed(at+".client_id") {
		l.Errorf(at+".client_id", "is required with issuer: set the id of this gateway at the provider, on one line")
	}
	if secret := o.ClientSecret.Reveal(); (secret == "" || !printable(secret)) && !l.Failed(at+".client_secret") {
		l.Errorf(at+".client_secret", "is required with issuer: set the secret that the provider has issued, on one line")
	}
	if len(o.Scopes) == 0 {
		o.Scopes = slices.Clone(usualScopes)
	}
	for i, scope := range o.Scopes {
		if scope == "" || strings.ContainsFunc(scope, func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' }) {
			l.Errorf(at+".scopes["+strconv.Itoa(i)+"]", "is not a scope: want one word of visible ASCII characters")
		}
	}
	if strings.HasPrefix(o.Claim, "/") && !jsonPointer().MatchString(o.Claim) || len(o.Claim) > maxPointer {
		l.Errorf(at+".claim", "%s is not a JSON pointer: want one such as /realm_access/roles", yamlconf.Quote(o.Claim))
	}
	if roles == 0 && !l.Failed(at+".roles") {
		l.Errorf(at+".roles", "gives no group a role: list a group for at least one of viewer, operator, billing and admin")
	}
	if u := o.Redirect; u != nil && (u.Path != OIDCPath || u.Scheme != "https" && !fetch.LoopbackHost(u.Hostname())) {
		l.Errorf(at+".redirect", "is not a URL of the console: want https, or http on this machine, and the path %s", OIDCPath)
	}
	l.checkRoots(at+".roots", &o.Roots)
	if !a.Console {
		l.Warnf(at, "has no effect: admin.console is false")
	}
}

// checkIssuer checks the URL of a provider.
func (l *loader) checkIssuer(at string, o *OIDC) {
	u, err := ParseURL(o.Issuer)
	if err != nil {
		l.Errorf(at, "the value is not valid: want an http:// or https:// URL without user, query and fragment")
		return
	}
	if err := fetch.New(fetch.Options{AllowInsecure: o.Private}).Check(u, nil); err != nil {
		l.Errorf(at, "%v: for a provider inside your network, set private: true", err)
	}
}
