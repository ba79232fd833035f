package gateway

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/uimgate/uimgate/intents"
)

// agentsFile answers GET /agents.json. UIM core 5.2.
func (s *Server) agentsFile(c echo.Context) error {
	p, err := s.agentsPage(exchangeOf(c).service)
	if err != nil {
		return newFault("INTERNAL", "agents.json could not be written.").because(err)
	}
	return document(c, p)
}

// policy answers GET /api/policy with the exact bytes that are offered. UIM core 4.2.
func (s *Server) policy(c echo.Context) error {
	return document(c, exchangeOf(c).service.offered)
}

// keySet answers GET /.well-known/jwks.json. RFC 7517.
func (s *Server) keySet(c echo.Context) error {
	body, err := s.deps.Keys.JWKS(s.now())
	if err != nil {
		return newFault("INTERNAL", "The keys could not be written.").because(err)
	}
	return document(c, page{body: body, mediaType: "application/jwk-set+json", etag: etagOf(body)})
}

// A page is a document as served: whole, with its ETag.
type page struct {
	body      []byte
	mediaType string
	etag      string
}

// cacheFor is short, since a policy may change and agreements under the old one end at once.
const cacheFor = "public, max-age=60"

func document(c echo.Context, p page) error {
	h := c.Response().Header()
	h.Set("Cache-Control", cacheFor)
	if p.etag != "" {
		h.Set("ETag", p.etag)
		if matchesETag(c.Request().Header.Get("If-None-Match"), p.etag) {
			return c.NoContent(http.StatusNotModified)
		}
	}
	return c.Blob(http.StatusOK, p.mediaType, p.body)
}

// matchesETag compares weakly. RFC 9110 13.1.2.
func matchesETag(field, etag string) bool {
	for candidate := range strings.SplitSeq(field, ",") {
		candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
		if candidate == etag || candidate == "*" {
			return true
		}
	}
	return false
}

// intent answers GET /api/intents/{intent_uid}.
func (s *Server) intent(c echo.Context) error {
	uid, err := url.PathUnescape(c.Param("uid"))
	if err != nil {
		return newFault("INTENT_NOT_FOUND", "The path holds no intent uid.")
	}
	found, err := exchangeOf(c).service.lookup(uid)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", cacheFor)
	return c.Blob(http.StatusOK, "application/json", found.JSON())
}

// search answers GET /api/intents/search. UIM core 5.4.
func (s *Server) search(c echo.Context) error {
	query, err := intents.ParseQuery(c.QueryParams())
	if err != nil {
		return newFault("INVALID_PARAMETER", err.Error()) // it names the parameter, never its value
	}
	c.Response().Header().Set("Cache-Control", cacheFor)
	return c.JSON(http.StatusOK, exchangeOf(c).service.Catalog.Search(query))
}
