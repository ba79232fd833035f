package doors

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/internal/fetch"
)

const (
	resourcePath = "/.well-known/oauth-protected-resource"
	serverPath   = "/.well-known/oauth-authorization-server"
	openIDPath   = "/.well-known/openid-configuration"
)

// mcpResource checks the metadata that the challenge names.
func (d *Doors) mcpResource(ctx context.Context) point.Finding {
	if f := d.OwnURL("resource_metadata", d.mcp.metadata); !f.Ok() {
		return f
	}
	m, f := d.document(ctx, d.mcp.metadata)
	if !f.Ok() {
		return f
	}
	if m.Text("resource") != d.mcp.url {
		return point.Wrong.Because("resource is %.200q, not uim-mcp", m.Text("resource"))
	}
	const most = 20
	servers, ok := texts(m.List("authorization_servers"))
	switch {
	case !ok || len(servers) == 0 || len(servers) > most:
		return point.Wrong.Because("authorization_servers is not a list of 1 to %d URLs", most)
	case !d.secure(servers[0]):
		return point.Wrong.Because("the first of authorization_servers is not an https URL")
	}
	d.mcp.issuer = servers[0]
	return point.Pass
}

// mcpResourcePaths looks for the metadata at the paths that clients use if they have received no challenge.
func (d *Doors) mcpResourcePaths(ctx context.Context) point.Finding {
	u, err := url.Parse(d.mcp.url)
	if err != nil {
		return point.Wrong.Because("uim-mcp is not a URL")
	}
	m, f := d.document(ctx, at(d.mcp.url, resourcePath+strings.TrimRight(u.EscapedPath(), "/")))
	if !f.Ok() {
		return f
	}
	if m.Text("resource") != d.mcp.url {
		return point.Wrong.Because("at the path of the endpoint, resource is not uim-mcp")
	}
	m, f = d.document(ctx, at(d.mcp.url, resourcePath))
	switch {
	case f.Outcome == point.Missing:
		return point.Holds.Because("the root has no metadata, which are optional")
	case !f.Ok():
		return f
	case m.Text("resource") != d.mcp.url && strings.TrimRight(m.Text("resource"), "/") != fetch.Origin(u):
		return point.Wrong.Because("at the root, resource is neither uim-mcp nor its origin")
	}
	return point.Pass
}

// metadataURLs returns the URLs at which an authorization server may describe itself, in the order that clients use: RFC 8414 3.1, and
// then OpenID Connect Discovery 4.1.
func metadataURLs(issuer string) []string {
	u, err := url.Parse(issuer)
	if err != nil {
		return nil
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	list := []string{at(issuer, serverPath+path), at(issuer, openIDPath+path)}
	if path != "" {
		list = append(list, at(issuer, path+openIDPath))
	}
	return list
}

// mcpAuthorization looks for the metadata of the first authorization server.
func (d *Doors) mcpAuthorization(ctx context.Context) point.Finding {
	last := point.Missing.Because("the authorization server has no URL")
	for _, address := range metadataURLs(d.mcp.issuer) {
		m, f := d.document(ctx, address)
		if !f.Ok() {
			if last = f; f.Outcome == point.Missing {
				continue
			}
			return f
		}
		if m.Text("issuer") != d.mcp.issuer {
			return point.Wrong.Because("issuer is %.200q, not the name of the authorization server", m.Text("issuer"))
		}
		d.mcp.server = m
		return d.endpoints()
	}
	return last
}

// endpoints checks the URLs in the metadata. See RFC 8414, section 2.
func (d *Doors) endpoints() point.Finding {
	if d.mcp.server["token_endpoint"] == nil {
		return point.Missing.Because("token_endpoint is missing")
	}
	var bad []string
	for _, name := range []string{"authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint", "jwks_uri"} {
		address, isText := d.mcp.server[name].(string)
		if d.mcp.server[name] != nil && (!isText || !d.secure(address)) {
			bad = append(bad, name+" is not an https URL")
		}
	}
	return point.WrongIfAny(bad)
}

func (d *Doors) mcpPKCE(context.Context) point.Finding {
	methods, ok := texts(d.mcp.server.List("code_challenge_methods_supported"))
	switch {
	case d.mcp.server["code_challenge_methods_supported"] == nil:
		return point.Missing.Because("code_challenge_methods_supported is missing")
	case !ok || !slices.Contains(methods, "S256"):
		return point.Wrong.Because("code_challenge_methods_supported does not have S256")
	}
	return point.Pass
}
