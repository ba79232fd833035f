package gateway

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/labstack/echo/v4"

	"github.com/uimgate/uimgate/gateway/page"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/intents"
)

// A document is a complete response body with its strong ETag.
type document struct {
	body      []byte
	mediaType string
	etag      string
	zipped    *gzipBody
}

func newDocument(body []byte, mediaType string) document {
	return document{body, mediaType, wire.ETag(body), &gzipBody{}}
}

// cacheFor is the Cache-Control of documents. max-age is short because a change of the policy ends agreements to the old policy
// immediately.
const cacheFor = "public, max-age=60"

// serve responds with a document, compressed if the client accepts gzip. The ETags of both representations have the same opaque tag: it is
// strong for the original bytes and weak for the compressed ones. With either ETag, a client can revalidate the document, and compare it
// with the digest of the policy. See RFC 9110, section 8.8.3.3.
func serve(c echo.Context, d document) error {
	h := c.Response().Header()
	h.Set("Cache-Control", cacheFor)
	h.Add("Vary", "Accept-Encoding")
	body, etag := d.body, d.etag
	if packed := d.gzip(c.Request()); packed != nil {
		h.Set("Content-Encoding", "gzip")
		body, etag = packed, "W/"+d.etag
	}
	h.Set("ETag", etag)
	if wire.MatchesETag(c.Request().Header.Get("If-None-Match"), d.etag) {
		h.Del("Content-Encoding")
		return c.NoContent(http.StatusNotModified)
	}
	return c.Blob(http.StatusOK, d.mediaType, body)
}

// serveOnce responds with a document that was built for this request only.
func (s *Server) serveOnce(c echo.Context, body []byte, mediaType string) error {
	d := newDocument(body, mediaType)
	if len(body) >= worthZipping && takesGzip(c.Request().Header.Values("Accept-Encoding")) {
		packed, err := s.zippers.zip(c.Request().Context(), body)
		if err != nil {
			return err
		}
		d.zipped.once.Do(func() { d.zipped.body = packed })
	}
	return serve(c, d)
}

// A publication holds the documents of one service. All but the policy are built on their first request.
type publication struct {
	service *service.Definition
	policy  document
	agents  atomic.Pointer[agentsFile]
	front   func() *page.Front
	plain   lazyDocument            // the front page without a query
	entry   lazyDocument            // the entry points, for programs
	plans   lazyDocument            // the plans of the policy, a member of agents.json
	words   lazyDocument            // the policy in sentences
	openAPI lazyDocument            // one operation for all intents
	each    lazyDocument            // one operation for each intent
	guides  map[string]lazyDocument // for language models and coding agents, by path
}

// A lazyDocument returns a document that is built on the first call. If that fails, every call returns the same error.
type lazyDocument func() (document, error)

// guides are the functions that build the guides, by path.
var guides = map[string]func(context.Context, *service.Definition) []byte{
	"/llms.txt": page.LLMs, "/AGENTS.md": page.AgentsMD, "/SKILL.md": page.Skill, "/policy.md": page.PolicyMD,
}

func newPublication(s *service.Definition) *publication {
	ctx, offer := context.Background(), s.Offer() // documents outlive the requests for which they are built
	lazy := func(mediaType string, build func(*service.Definition) ([]byte, error)) lazyDocument {
		return sync.OnceValues(func() (document, error) {
			body, err := build(s)
			return newDocument(body, mediaType), err
		})
	}
	p := &publication{
		service: s, policy: document{offer.Bytes, "application/ld+json", `"` + offer.Digest + `"`, &gzipBody{}},
		front:   sync.OnceValue(func() *page.Front { return page.NewFront(ctx, s) }),
		entry:   lazy("application/json", page.EntryPoints),
		plans:   lazy("application/json", func(d *service.Definition) ([]byte, error) { return page.PlansMember(ctx, d) }),
		words:   lazy(mediaText, func(d *service.Definition) ([]byte, error) { return page.PolicyText(d), nil }),
		openAPI: lazy("application/json", page.OpenAPI), each: lazy("application/json", page.OpenAPIPerIntent),
		guides: map[string]lazyDocument{},
	}
	p.plain = lazy(mediaHTML, func(*service.Definition) ([]byte, error) { return p.front().Page(ctx, page.Query{}) })
	for path, build := range guides {
		p.guides[path] = lazy(mediaMarkdown, func(d *service.Definition) ([]byte, error) { return build(ctx, d), nil })
	}
	return p
}

type agentsFile struct {
	key string
	document
}

// agentsFile returns agents.json with the given public key and additional members. It builds the document again only if the key or a member
// has changed.
func (p *publication) agentsFile(publicKey string, members []intents.Extra) (document, error) {
	key := fmt.Sprint(publicKey, members)
	if made := p.agents.Load(); made != nil && made.key == key {
		return made.document, nil
	}
	body, err := p.service.AgentsFile(publicKey, members...)
	if err != nil {
		return document{}, err
	}
	d := newDocument(body, "application/json")
	p.agents.Store(&agentsFile{key, d})
	return d, nil
}

const (
	mediaHTML     = "text/html; charset=utf-8"
	mediaMarkdown = "text/markdown; charset=utf-8"
)

// publications holds the publications of one snapshot of the configuration. A reload replaces the services and their documents.
type publications struct {
	snapshot  *service.Snapshot
	byService map[*service.Service]*publication
}

// publication returns the publication of a service. If a reload has replaced the service while a request still uses it, publication
// returns a new publication for that request.
func (s *Server) publication(of *service.Service) *publication {
	now := s.Directory.Current()
	made := s.published.Load()
	if made == nil || made.snapshot != now {
		made = &publications{now, map[*service.Service]*publication{}}
		for _, one := range now.Versions() {
			made.byService[one] = newPublication(one.Definition)
		}
		s.published.Store(made)
	}
	if p, ok := made.byService[of]; ok {
		return p
	}
	return newPublication(of.Definition)
}
