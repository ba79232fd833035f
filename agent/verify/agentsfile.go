package verify

import (
	"bytes"
	"context"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/uimgate/uimgate/agent/fetch"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/strictjson"
)

func (v *visit) agentsFound(context.Context) finding {
	for _, e := range v.found {
		if e.status == http.StatusOK && int64(len(e.body())) > v.o.Client.MaxDocument {
			return wrong("%s is larger than %d bytes", e.name(), v.o.Client.MaxDocument)
		}
	}
	if v.file == nil {
		return missing("%v", v.findErr)
	}
	if _, cut := errors.AsType[*fetch.Error](v.findErr); cut {
		return broken(v.findErr)
	}
	return holds("%s", v.file.url)
}

// agentsDirect holds where no redirect on the way led to another site.
func (v *visit) agentsDirect(context.Context) finding {
	for _, e := range v.found {
		to, err := e.url.Parse(e.header.Get("Location"))
		if e.status/100 != 3 || err != nil || e.header.Get("Location") == "" {
			continue
		}
		elsewhere := !v.sameSite(e.url.Hostname(), to.Hostname())
		if fetch.LoopbackHost(to.Hostname()) { // there each port is a site of its own
			elsewhere = fetch.Origin(e.url) != fetch.Origin(to)
		}
		if elsewhere {
			return wrong("%s redirects to %s", e.name(), fetch.Origin(to))
		}
	}
	return good
}

func (v *visit) agentsType(context.Context) finding { return jsonType(v.file.header, false) }

// jsonType judges a Content-Type.
func jsonType(h http.Header, other bool) finding {
	text := h.Get("Content-Type")
	if text == "" {
		return missing("there is no Content-Type")
	}
	kind, _, err := mime.ParseMediaType(text)
	switch {
	case err != nil:
		return wrong("the Content-Type cannot be read")
	case kind == "application/json", strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json"):
		return holds("%s", kind)
	case other && kind == "application/octet-stream":
		return good
	}
	return wrong("it is %s", kind)
}

func (v *visit) agentsJSON(context.Context) finding {
	tree, err := strictjson.DecodeObject(v.file.body())
	if err != nil {
		return wrong("%v", err)
	}
	v.tree = tree
	return good
}

func (v *visit) agentsReadable(context.Context) finding {
	v.catalog, v.told = intents.Parse(v.file.body(), intents.Options{})
	if v.catalog == nil {
		return wrong("%s", v.told[0])
	}
	return good
}

func (v *visit) agentsDialect(context.Context) finding {
	if v.catalog.Dialect != intents.Core {
		return wrong("it is written in the %s dialect", v.catalog.Dialect)
	}
	if _, ok := v.tree["service-info"].(map[string]any); !ok {
		return missing("there is no service-info")
	}
	return good
}

func (v *visit) agentsWellKnown(ctx context.Context) finding {
	const path = "/.well-known/agents.json"
	if v.file.url.Path == path {
		return good
	}
	a, err := v.get(ctx, v.at(path), maxDocument)
	switch {
	case err != nil:
		return broken(err)
	case a.Status >= http.StatusInternalServerError:
		return failed(a)
	case a.Status != http.StatusOK:
		return missing("%s answers %d", path, a.Status)
	case !bytes.Equal(a.Body, v.file.body()):
		return wrong("what is there differs from %s", v.file.url.Path)
	}
	return good
}

func (v *visit) agentsETag(context.Context) finding { return etag(v.file.header) }

func etag(h http.Header) finding {
	tag := h.Get("ETag")
	quoted := strings.TrimPrefix(tag, "W/")
	switch {
	case tag == "":
		return missing("there is no ETag")
	case len(quoted) < 2 || quoted[0] != '"' || quoted[len(quoted)-1] != '"':
		return wrong("the ETag is not in quotes")
	}
	return good
}

func (v *visit) agentsConditional(ctx context.Context) finding {
	return v.conditional(ctx, v.file.url.String(), v.file.header.Get("ETag"))
}

func (v *visit) conditional(ctx context.Context, address, tag string) finding {
	a, err := v.ask(ctx, http.MethodGet, address, http.Header{"If-None-Match": {tag}, "Accept": {"application/json"}}, "")
	switch {
	case err != nil:
		return broken(err)
	case a.Status >= http.StatusInternalServerError:
		return failed(a)
	case a.Status == http.StatusOK:
		return missing("If-None-Match with its own ETag is answered 200")
	case a.Status != http.StatusNotModified:
		return wrong("If-None-Match is answered %d", a.Status)
	case len(a.Body) > 0:
		return wrong("the 304 has a body")
	}
	return good
}

// address reads an absolute URL that an agent would ask.
func (v *visit) address(s string) (*url.URL, bool) {
	u, err := url.Parse(s)
	return u, err == nil && v.secure(u)
}
