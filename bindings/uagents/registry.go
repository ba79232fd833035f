package uagents

import (
	"errors"
	"net/http"
	"strings"

	"github.com/uimgate/uimgate/bindings/uagents/almanac"
	"github.com/uimgate/uimgate/bindings/uagents/delivery"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
)

// inAlmanac returns the part of a path after almanac.Path and a slash. ok is false for other paths.
func inAlmanac(path string) (rest string, ok bool) { return strings.CutPrefix(path, almanac.Path+"/") }

// looked responds to a request to the Almanac, with the paths and formats that clients of Almanacs expect.
func (x *submission) looked(path string) {
	body, err := x.lookedUp(path)
	if err == nil {
		err = x.holds(body)
	}
	if err != nil {
		x.unfound(err)
		return
	}
	x.write(http.StatusOK, body)
}

// done is the response to a successful registration.
var done = []byte("{}")

func (x *submission) lookedUp(path string) ([]byte, error) {
	registry, service, from, ctx := x.d.registry, x.Service.ID, x.Address, x.r.Context()
	kind, name, _ := strings.Cut(path, "/")
	if address, ok := strings.CutSuffix(name, "/status"); ok && kind == "agents" && x.r.Method == http.MethodPost {
		tree, err := x.object(almanac.MaxBody)
		if err != nil {
			return nil, err
		}
		return done, registry.SetStatus(ctx, service, from, address, tree)
	}
	switch x.r.Method + " " + kind {
	case "GET agents":
		return registry.Record(ctx, service, name, x.r.URL.Query().Get("prefix"))
	case "GET domains": // this Almanac has no domains
		return nil, errNoDomain
	}
	may := func(agent identity.Address, e delivery.Endpoint) error {
		return x.d.registrable(x.settings(), agent, e)
	}
	switch x.r.Method + " " + path {
	case "POST agents":
		tree, err := x.object(almanac.MaxBody)
		if err != nil {
			return nil, err
		}
		return done, registry.Register(ctx, service, from, tree, may)
	case "POST agents/batch":
		tree, err := x.object(almanac.MaxBatch)
		if err != nil {
			return nil, err
		}
		return done, registry.RegisterAll(ctx, service, from, tree, may)
	case "POST manifests": // manifests are checked, but not stored
		body, err := x.body(protocol.MaxManifest)
		if err == nil {
			_, err = protocol.ParseManifest(body)
		}
		return done, err
	case "POST search":
		tree, err := x.object(almanac.MaxBody)
		if err != nil {
			return nil, err
		}
		return registry.Search(ctx, service, tree)
	}
	return nil, reason.NoSuchPath.Refusal("")
}

var errNoDomain = errors.New("domain not found")

// body reads a body of at most maxBytes bytes, and counts it against the memory of the request.
func (x *submission) body(maxBytes int64) ([]byte, error) {
	body, err := wire.ReadBody(x.r, min(maxBytes, x.Service.MaxBody))
	if err != nil {
		return nil, err
	}
	return body, wire.Affords(x.r.Context(), body)
}

func (x *submission) object(maxBytes int64) (strictjson.Object, error) {
	body, err := x.body(maxBytes)
	if err != nil {
		return nil, err
	}
	tree, err := strictjson.DecodeObjectOf(body, wire.MaxValues)
	if err != nil {
		return nil, wire.Malformed(err)
	}
	return tree, nil
}

// unfound responds with an error of the Almanac, as an object with the member detail.
func (x *submission) unfound(err error) {
	f := &fault{detail: err.Error()}
	switch {
	case errors.Is(err, almanac.ErrUnknown), errors.Is(err, errNoDomain):
		f.refusal = reason.NoSuchPath.Refusal("")
	case errors.Is(err, almanac.ErrAttestation), errors.Is(err, almanac.ErrSearch), errors.Is(err, protocol.ErrManifest):
		f.refusal = reason.MalformedRequest.Refusal("")
	case errors.Is(err, almanac.ErrFull):
		f.refusal = reason.Overloaded.Refusal("").After(fullWait).ShedFor(reason.ShedAlmanac)
	case errors.Is(err, almanac.ErrTooMany):
		f.refusal = reason.TooManyConnections.Refusal("").After(x.d.registry.Wait()).ShedFor(reason.ShedAlmanacAddress)
	default:
		f.refusal = refusal.For(err)
		f.detail = f.refusal.Message
	}
	x.fail(f)
}
