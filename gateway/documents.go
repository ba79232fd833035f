package gateway

import (
	"context"
	"errors"
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
	front   frontPages
	entry   once
	plans   once // the plans of the policy, a member of agents.json
	words   once // the policy in sentences
	openAPI once // one operation for all intents
	each    once // one operation for each intent
	guides  [4]once
}

func newPublication(s *service.Definition) *publication {
	offer := s.Offer()
	return &publication{service: s, policy: document{offer.Bytes, "application/ld+json", `"` + offer.Digest + `"`, &gzipBody{}}}
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

var errMaking = errors.New("building the document failed")

// A once is a document that is built on its first request. If that fails, every request gets the same error.
type once struct {
	once     sync.Once
	document document
	err      error
}

func (m *once) get(s *service.Definition, mediaType string, build func(*service.Definition) ([]byte, error)) (document, error) {
	m.once.Do(func() {
		m.err = errMaking // remains set if build panics
		body, err := build(s)
		if m.err = err; err == nil {
			m.document = newDocument(body, mediaType)
		}
	})
	return m.document, m.err
}

// frontPages builds the HTML front page of a service. The page without a query is built once.
type frontPages struct {
	once  sync.Once
	maker *page.Front
	plain document
	err   error
}

// frontPage returns the front page for a query. kept reports whether d is the page that is built once; otherwise only d.body is set.
func (p *publication) frontPage(ctx context.Context, q page.Query) (d document, kept bool, err error) {
	f := &p.front
	f.once.Do(func() {
		f.err = errMaking // remains set if package page panics
		ctx := context.WithoutCancel(ctx)
		f.maker = page.NewFront(ctx, p.service)
		body, err := f.maker.Page(ctx, page.Query{})
		if f.err = err; err == nil {
			f.plain = newDocument(body, mediaHTML)
		}
	})
	if f.err != nil || q.IsZero() {
		return f.plain, true, f.err
	}
	body, err := f.maker.Page(ctx, q)
	return document{body: body}, false, err
}

func (p *publication) entryPoints() (document, error) {
	return p.entry.get(p.service, "application/json", page.EntryPoints)
}

func (p *publication) openAPIDocument() (document, error) {
	return p.openAPI.get(p.service, "application/json", page.OpenAPI)
}

func (p *publication) openAPIPerIntent() (document, error) {
	return p.each.get(p.service, "application/json", page.OpenAPIPerIntent)
}

// The guides for language models and coding agents.

func (p *publication) llms(ctx context.Context) (document, error) {
	return p.guideOf(ctx, 0, page.LLMs)
}

func (p *publication) agentsMD(ctx context.Context) (document, error) {
	return p.guideOf(ctx, 1, page.AgentsMD)
}

func (p *publication) skill(ctx context.Context) (document, error) {
	return p.guideOf(ctx, 2, page.Skill)
}

func (p *publication) policyMD(ctx context.Context) (document, error) {
	return p.guideOf(ctx, 3, page.PolicyMD)
}

func (p *publication) guideOf(ctx context.Context, n int, build func(context.Context, *service.Definition) []byte) (document, error) {
	return p.guides[n].get(p.service, mediaMarkdown, func(d *service.Definition) ([]byte, error) {
		return build(context.WithoutCancel(ctx), d), nil
	})
}

// publications holds the publications of one snapshot of the configuration. A reload replaces the services and their documents.
type publications struct {
	snapshot  *service.Snapshot
	byService map[*service.Service]*publication
}

// publication returns the publication of a service. If a reload has replaced the service while a request still uses it, publication
// returns a new publication for that request.
func (s *Server) publication(of *service.Service) *publication {
	now := s.directory.Current()
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
