package openapi

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/intents/openapi/read"
	"github.com/uimgate/uimgate/internal/regex"
)

// A Credential describes a credential that the gateway must send to the service. The operator must supply the secret.
type Credential struct {
	Name string // the name of the security scheme
	// Setting is the value of upstream.auth that sends the credential, with a variable for the secret. It is empty if the gateway cannot
	// send the credential.
	Setting          string
	Variable, Remark string

	query string // the query parameter that carries the credential; may be empty
}

var (
	fieldName   = regex.Lazy("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$")
	plainText   = regex.Lazy("^[A-Za-z0-9!%&()*+,./:;=?@_~-]{1,500}$") // no quotation marks, and no $, which would be expanded
	notVariable = regex.Lazy(`[^A-Z0-9]+`)
)

// credentials reads the security schemes of the document into Import.Credentials.
func (w *work) credentials() {
	w.secret = map[string]bool{}
	at, _, err := w.Lookup("#/components/securitySchemes")
	if err == nil {
		at, err = w.Resolve(at, "securitySchemes")
	}
	if err != nil && !errors.Is(err, read.ErrNowhere) {
		w.remark("", "the credentials that the service requires are unknown: "+read.Line(err.Error(), 400))
	}
	schemes := read.Object(at)
	for _, name := range slices.Sorted(maps.Keys(schemes)) {
		s, err := w.Follow(schemes[name], "the security scheme")
		if err != nil {
			w.remark("", "security scheme "+read.Excerpt(name)+": "+read.Line(err.Error(), 200))
			continue
		}
		const most = 20
		if len(w.out.Credentials) == most {
			w.remark("", "there are more security schemes than are listed")
			return
		}
		if read.Text(s["in"]) == "header" {
			w.secret[http.CanonicalHeaderKey(read.Text(s["name"]))] = true
		}
		w.out.Credentials = append(w.out.Credentials, credential(name, s))
	}
}

// variableOf returns the name of an environment variable for a value.
func variableOf(name string) string {
	variable := strings.Trim(notVariable().ReplaceAllString(strings.ToUpper(kebab(name)), "_"), "_")
	if variable == "" || variable[0] >= '0' && variable[0] <= '9' {
		variable = "API_" + variable
	}
	return strings.TrimRight(variable, "_")
}

func credential(name string, s map[string]any) Credential {
	c := Credential{Name: read.Line(name, 60), Variable: variableOf(name)}
	header, in := read.Text(s["name"]), read.Text(s["in"])
	switch kind, scheme := read.Text(s["type"]), strings.ToLower(read.Text(s["scheme"])); {
	case kind == "apiKey" && in == "header" && fieldName().MatchString(header):
		c.Setting = `{header: "` + header + `: ${` + c.Variable + `}"}`
	case kind == "apiKey" && in == "query" && givenName().MatchString(header):
		c.query, c.Remark = header, "it belongs in the query: set it under fixed"
	case kind == "apiKey":
		c.Remark = "the gateway sends credentials in a header, not in a " + read.Line(in, 20)
	case kind == "http" && scheme == "basic":
		c.Setting = `{basic: "${` + c.Variable + `_USER}:${` + c.Variable + `_PASSWORD}"}`
		c.Variable += "_USER and " + c.Variable + "_PASSWORD"
	case kind == "http" && scheme == "bearer":
		c.Setting = bearer(c.Variable)
	case kind == "oauth2" && clientCredentials(s) != "":
		c.Setting = `{oauth2: {` + clientCredentials(s) + `, client_id: "${` + c.Variable + `_CLIENT_ID}", client_secret: "${` +
			c.Variable + `_CLIENT_SECRET}"}}`
		c.Variable = c.Variable + "_CLIENT_ID and " + c.Variable + "_CLIENT_SECRET"
	case kind == "oauth2" || kind == "openIdConnect":
		c.Setting = bearer(c.Variable)
		c.Remark = "an access token from a flow other than client credentials; the gateway neither requests nor renews it"
	default:
		c.Remark = "the gateway cannot send it"
	}
	return c
}

// clientCredentials returns the keys of upstream.auth.oauth2 for a scheme with client credentials (RFC 6749 section 4.4): the URL of the
// token server, and the scopes, unless there are many to choose from. It returns "" for any other scheme, and if the URL is not a plain
// https URL.
func clientCredentials(s map[string]any) string {
	flow := read.Object(read.Object(s["flows"])["clientCredentials"])
	if read.Text(s["flow"]) == "application" { // Swagger 2
		flow = s
	}
	address := read.Text(flow["tokenUrl"])
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || len(address) > maxURL || !plainText().MatchString(address) {
		return ""
	}
	out := "token_url: " + strconv.Quote(address)
	const most = 10
	scopes := slices.Sorted(maps.Keys(read.Object(flow["scopes"])))
	if len(scopes) == 0 || len(scopes) > most {
		return out
	}
	for i, scope := range scopes {
		if !plainText().MatchString(scope) {
			return out
		}
		scopes[i] = strconv.Quote(scope)
	}
	return out + ", scopes: [" + strings.Join(scopes, ", ") + "]"
}

func bearer(variable string) string { return `{header: "Authorization: Bearer ${` + variable + `}"}` }
