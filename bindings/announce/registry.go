package announce

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/bindings/mcp"
	"github.com/uimgate/uimgate/gateway/consent"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/regex"
)

// A Header is an HTTP header that clients must send and whose value their users must provide.
type Header struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"isRequired"`
	Secret      bool   `json:"isSecret"`
}

// maxName is the maximum length of a server name, in characters.
const maxName = 200

var semantic = regex.Lazy(`^(0|[1-9]\d{0,9})\.(0|[1-9]\d{0,9})\.(0|[1-9]\d{0,9})(-[0-9A-Za-z.-]{1,60})?(\+[0-9A-Za-z.-]{1,60})?$`)

// The errors that ServerJSON returns.
var (
	ErrNoEndpoint = errors.New("the service has no MCP endpoint: doors.mcp.enabled is false")
	ErrVersion    = errors.New("the version must be a semantic version such as 1.2.3")
)

// ServerJSON returns the server.json that lists a service in the MCP registry under a name that begins with domain. The registry requires
// a proof of control over the domain. It accepts each version once, so every change needs a higher version. ServerJSON returns
// ErrNoEndpoint, ErrVersion, or an error if the name is too long. Registry, server.json 2025-12-11.
func ServerJSON(s *service.Definition, domain, version string) (Card, error) {
	c := card(s, version)
	c.Schema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
	labels := strings.Split(domain, ".")
	slices.Reverse(labels)
	c.Name = strings.Join(labels, ".") + "/" + s.ID
	switch {
	case mcp.SettingsOf(s) == nil:
		return Card{}, ErrNoEndpoint
	case !semantic().MatchString(version):
		return Card{}, ErrVersion
	case len(c.Name) > maxName:
		return Card{}, fmt.Errorf("the name %s is too long: the registry accepts at most %d characters", c.Name, maxName)
	}
	remote := &c.Remotes[0]
	remote.Versions = nil
	if !consent.Open(s) { // with consent, clients discover how to get a token
		remote.Headers = []Header{{
			Name: "Authorization", Required: true, Secret: true,
			Description: "Bearer, followed by a policy adherence token: agree to the policy at " + s.At("/api/policy") + " to get one.",
		}}
	}
	return c, nil
}
