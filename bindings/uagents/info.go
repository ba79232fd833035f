package uagents

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/uimgate/uimgate/bindings/uagents/delivery"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
)

// Paths at which a service describes itself as an agent.
const (
	infoPath     = "/agent_info"
	manifestPath = "/uagents/manifest"
)

// informed handles infoPath and manifestPath.
func (x *submission) informed(path string) {
	if x.r.Method != http.MethodGet && x.r.Method != http.MethodHead {
		x.header.Set("Allow", "GET, HEAD, OPTIONS")
		x.fail(&fault{reason.MethodNotAllowed.Refusal(""), "method not allowed", ""})
		return
	}
	var body any
	if path == infoPath {
		body = x.info()
	} else {
		body = manifests(x.settings().manifest, x.r.URL.Query().Get("digest"))
	}
	text, err := json.Marshal(body)
	switch {
	case body == nil:
		x.fail(&fault{reason.NoSuchPath.Refusal(""), "not found", ""})
	case err != nil:
		x.fail(unwritable(err))
	default:
		x.write(http.StatusOK, text)
	}
}

// An agentInfo is an agent's description of itself.
type agentInfo struct {
	Address   string              `json:"address"`
	Endpoints []delivery.Endpoint `json:"endpoints"`
	Protocols []string            `json:"protocols"`
	Type      string              `json:"agent_type"`
	Metadata  map[string]string   `json:"metadata"`
	Prefix    identity.Network    `json:"prefix"`
	Port      int                 `json:"port"`
}

// info returns the service's description of itself, or nil if the request names another agent.
func (x *submission) info() any {
	own := x.settings()
	if address := x.r.Header.Get(addressKey); address != "" && address != own.Address {
		return nil
	}
	u := x.Service.PublicURL
	port := 80
	if u.Scheme == "https" {
		port = 443
	}
	if given, err := strconv.Atoi(u.Port()); err == nil {
		port = given
	}
	metadata := map[string]string{}
	if len(own.impliedScope()) > 0 {
		metadata["terms"] = "A message of the protocol models may imply an agreement to the policy: see the documentation of the service."
		metadata["policy"] = x.Service.PolicyRef()["url"]
	}
	return agentInfo{
		Address: own.Address, Endpoints: []delivery.Endpoint{{URL: x.Service.At(own.Path), Weight: 1}}, Protocols: protocols(own.manifest),
		Type: "custom", Metadata: metadata, Prefix: identity.Mainnet, Port: port,
	}
}

// manifests returns the manifests that agents search for. If digest is not empty, it returns only the manifest with that digest, which may
// be that of protocol.Plans, or nil if there is none.
func manifests(own *protocol.Manifest, digest string) any {
	all := serviceProtocols(own)
	if digest == "" {
		return all
	}
	for _, m := range append(all, protocol.Plans()) {
		if string(m.Digest) == digest {
			return m
		}
	}
	return nil
}
