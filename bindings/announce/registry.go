package announce

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/bindings/mcp"
	"github.com/uimgate/uimgate/gateway/consent"
	"github.com/uimgate/uimgate/gateway/service"
)

// A Header is a header that a client must send and its user must know.
type Header struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"isRequired"`
	Secret      bool   `json:"isSecret"`
}

// maxName bounds the name of a server, in characters.
const maxName = 200

var semantic = regexp.MustCompile(`^(0|[1-9]\d{0,9})\.(0|[1-9]\d{0,9})\.(0|[1-9]\d{0,9})(-[0-9A-Za-z.-]{1,60})?(\+[0-9A-Za-z.-]{1,60})?$`)

// Errors of ServerJSON.
var (
	ErrNoEndpoint = errors.New("the service has no MCP endpoint: doors.mcp.enabled is false")
	ErrVersion    = errors.New("a version is written as in 1.2.3 (semantic versioning)")
)

// ServerJSON returns the server.json that lists a service in the MCP registry under the name of a domain. The registry accepts it from
// anyone who proves the domain, and each version once, so a change needs a higher version. The error is ErrNoEndpoint or ErrVersion, or
// reports that the name is too long. Registry, server.json 2025-12-11.
func ServerJSON(s *service.Definition, domain, version string) (Card, error) {
	c := card(s, version)
	c.Schema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
	labels := strings.Split(domain, ".")
	slices.Reverse(labels)
	c.Name = strings.Join(labels, ".") + "/" + s.ID
	switch {
	case mcp.SettingsOf(s) == nil:
		return Card{}, ErrNoEndpoint
	case !semantic.MatchString(version):
		return Card{}, ErrVersion
	case len(c.Name) > maxName:
		return Card{}, fmt.Errorf("the name %s has more than %d characters, which the registry does not take", c.Name, maxName)
	}
	remote := &c.Remotes[0]
	remote.Versions = nil
	if !consent.Open(s) { // otherwise clients find out by themselves how to get a token
		remote.Headers = []Header{{
			Name: "Authorization", Required: true, Secret: true,
			Description: "Bearer, and a policy adherence token: agree to the policy at " + s.At("/api/policy") + " to get one.",
		}}
	}
	return c, nil
}
