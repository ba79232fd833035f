package verify

import (
	"bytes"
	"context"
	"errors"
	"mime"
	"net/http"
	"strings"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
)

func (v *verification) agentsFound(context.Context) finding {
	for _, e := range v.exchanges {
		if e.status == http.StatusOK && int64(len(e.body())) > v.options.Client.MaxDocument {
			return wrong("%s is larger than %d bytes", e.name(), v.options.Client.MaxDocument)
		}
	}
	if v.agentsFile == nil {
		return missing("%v", v.findErr)
	}
	if _, cut := errors.AsType[*fetch.Error](v.findErr); cut {
		return point.Failed(v.findErr)
	}
	return holds("%s", v.agentsFile.url)
}

// agentsDirect passes if no redirect led to another site.
func (v *verification) agentsDirect(context.Context) finding {
	for _, e := range v.exchanges {
		to, err := e.url.Parse(e.header.Get("Location"))
		if e.status/100 != 3 || err != nil || e.header.Get("Location") == "" {
			continue
		}
		elsewhere := !v.SameSite(e.url.Hostname(), to.Hostname())
		if fetch.LoopbackHost(to.Hostname()) { // on loopback each port is a separate site
			elsewhere = fetch.Origin(e.url) != fetch.Origin(to)
		}
		if elsewhere {
			return wrong("%s redirects to %s", e.name(), fetch.Origin(to))
		}
	}
	return pass
}

func (v *verification) agentsType(context.Context) finding {
	return jsonType(v.agentsFile.header)
}

// jsonType checks that the Content-Type is a JSON media type.
func jsonType(h http.Header) finding {
	text := h.Get("Content-Type")
	if text == "" {
		return missing("Content-Type is missing")
	}
	kind, _, err := mime.ParseMediaType(text)
	switch {
	case err != nil:
		return wrong("the Content-Type is malformed")
	case kind == "application/json", strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json"):
		return holds("%s", kind)

	}
	return wrong("the Content-Type is %s", kind)
}

func (v *verification) agentsJSON(context.Context) finding {
	tree, err := strictjson.DecodeObject(v.agentsFile.body())
	if err != nil {
		return wrong("%v", err)
	}
	v.Named = tree
	return pass
}

func (v *verification) agentsReadable(context.Context) finding {
	v.Catalog, v.problems = intents.Parse(v.agentsFile.body(), intents.Options{})
	if v.Catalog == nil {
		return wrong("%s", v.problems[0])
	}
	return pass
}

func (v *verification) agentsDialect(context.Context) finding {
	if v.Catalog.Dialect != intents.Core {
		return wrong("it uses the dialect %s", v.Catalog.Dialect)
	}
	if _, ok := v.Named["service-info"].(map[string]any); !ok {
		return missing("service-info is missing")
	}
	return pass
}

func (v *verification) agentsWellKnown(ctx context.Context) finding {
	const path = "/.well-known/agents.json"
	if v.agentsFile.url.Path == path {
		return pass
	}
	a, err := v.get(ctx, v.at(path), maxDocument)
	switch {
	case err != nil:
		return point.Failed(err)
	case a.Status >= http.StatusInternalServerError:
		return point.ServerError(a)
	case a.Status != http.StatusOK:
		return missing("%s responds with %d", path, a.Status)
	case !bytes.Equal(a.Body, v.agentsFile.body()):
		return wrong("its content differs from %s", v.agentsFile.url.Path)
	}
	return pass
}

func (v *verification) agentsETag(context.Context) finding { return etag(v.agentsFile.header) }

func etag(h http.Header) finding {
	tag := h.Get("ETag")
	quoted := strings.TrimPrefix(tag, "W/")
	switch {
	case tag == "":
		return missing("ETag is missing")
	case len(quoted) < 2 || quoted[0] != '"' || quoted[len(quoted)-1] != '"':
		return wrong("the ETag is not in quotes")
	}
	return pass
}

func (v *verification) agentsConditional(ctx context.Context) finding {
	return v.conditional(ctx, v.agentsFile.url.String(), v.agentsFile.header.Get("ETag"))
}

func (v *verification) conditional(ctx context.Context, address, tag string) finding {
	a, err := v.ask(ctx, http.MethodGet, address, http.Header{"If-None-Match": {tag}, "Accept": {"application/json"}}, "")
	switch {
	case err != nil:
		return point.Failed(err)
	case a.Status >= http.StatusInternalServerError:
		return point.ServerError(a)
	case a.Status == http.StatusOK:
		return missing("the response to If-None-Match with the current ETag is 200")
	case a.Status != http.StatusNotModified:
		return wrong("the response to If-None-Match is %d", a.Status)
	case len(a.Body) > 0:
		return wrong("the 304 has a body")
	}
	return pass
}
