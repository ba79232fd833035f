package gateway

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/uimgate/uimgate/gateway/page"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
)

// front handles GET /. If the client requests HTML, the response is a page that describes the service, its offer and its terms. Otherwise
// it is a JSON document with the URLs of the service.
func (s *Server) front(c echo.Context) error {
	h := c.Response().Header()
	h.Set("Vary", "Accept")
	h.Set("Link", `</.well-known/ai-catalog.json>; rel="ai-catalog"`)
	p := s.publication(exchangeOf(c).service)
	if !wantsHTML(c.Request().Header.Values("Accept")) {
		d, err := p.entry()
		if err != nil {
			return reason.Internal.Refusal("The entry points could not be encoded.").Because(err)
		}
		return serve(c, d)
	}
	secure(h, page.FrontSecurity)
	q := page.ParseQuery(c.QueryParams())
	if q.IsZero() {
		d, err := p.plain()
		if err != nil {
			return reason.Internal.Refusal("The page could not be rendered.").Because(err)
		}
		return serve(c, d)
	}
	body, err := p.front().Page(c.Request().Context(), q)
	if err != nil {
		return reason.Internal.Refusal("The page could not be rendered.").Because(err)
	}
	return s.serveOnce(c, body, mediaHTML)
}

// icon handles GET /favicon.svg.
func (s *Server) icon(c echo.Context) error { return serve(c, signOfThePage) }

var signOfThePage = newDocument(page.Icon, "image/svg+xml")

// openAPI handles GET /openapi.json. With ?per-intent, each intent is a separate operation.
func (s *Server) openAPI(c echo.Context) error {
	made := s.publication(exchangeOf(c).service)
	build := made.openAPI
	if c.QueryParams().Has("per-intent") {
		build = made.each
	}
	p, err := build()
	if err != nil {
		return reason.Internal.Refusal("openapi.json could not be encoded.").Because(err)
	}
	return serve(c, p)
}

// protocol handles GET /docs/protocol, the page for developers of agents. It responds with HTML to browsers, and otherwise with Markdown.
func (s *Server) protocol(c echo.Context) error {
	h := c.Response().Header()
	h.Set("Vary", "Accept")
	if !wantsHTML(c.Request().Header.Values("Accept")) {
		return serve(c, protocolMarkdown())
	}
	made, err := protocolHTML()
	if err != nil {
		return reason.Internal.Refusal("The page could not be rendered.").Because(err)
	}
	secure(h, page.Security)
	return serve(c, made)
}

var (
	protocolMarkdown = sync.OnceValue(func() document {
		return newDocument(page.ProtocolMarkdown(), mediaMarkdown)
	})
	protocolHTML = sync.OnceValues(func() (document, error) {
		body, err := page.Protocol()
		return newDocument(body, mediaHTML), err
	})
)

// guide handles the documents for language models and coding agents.
func (s *Server) guide(c echo.Context) error {
	d, err := s.publication(exchangeOf(c).service).guides[c.Path()]()
	if err != nil {
		return reason.Internal.Refusal("The document could not be built.").Because(err)
	}
	return serve(c, d)
}

// errorList handles GET /errors, the list of all reasons that agents can receive in a refusal.
func (s *Server) errorList(c echo.Context) error { return s.explained(c, page.Errors, page.ErrorsJSON) }

// errorPage handles GET /errors/{reason}, the help_url of each refusal.
func (s *Server) errorPage(c echo.Context) error {
	request := reason.Reason(c.Param("reason"))
	if !request.Known() || request.ForOperators() {
		return reason.NoSuchPath.Refusal("")
	}
	return s.explained(c,
		func(d *service.Definition) ([]byte, error) { return page.Error(d, request) },
		func(d *service.Definition) ([]byte, error) { return page.ErrorJSON(d, request) })
}

// explained responds with an HTML page, or with the same content as JSON if the client prefers JSON.
func (s *Server) explained(c echo.Context, inHTML, inJSON func(*service.Definition) ([]byte, error)) error {
	h := c.Response().Header()
	h.Set("Vary", "Accept")
	build, mediaType := inHTML, mediaHTML
	if html, json := wanted(c.Request().Header.Values("Accept")); json > html {
		build, mediaType = inJSON, echo.MIMEApplicationJSON
	}
	body, err := build(exchangeOf(c).service.Definition)
	if err != nil {
		return reason.Internal.Refusal("The page could not be rendered.").Because(err)
	}
	if mediaType != mediaHTML {
		return s.serveOnce(c, body, mediaType)
	}
	secure(h, page.Security)
	return s.serveOnce(c, body, mediaHTML)
}

// lost returns the body of the refusal NoSuchPath: an HTML page if the client requests HTML, otherwise the envelope. It sets the header
// fields that the body needs.
func lost(c echo.Context, served *service.Service, envelope []byte) []byte {
	h := c.Response().Header()
	h.Add("Vary", "Accept")
	if !wantsHTML(c.Request().Header.Values("Accept")) {
		return envelope
	}
	body, err := page.Error(served.Definition, reason.NoSuchPath)
	if err != nil {
		return envelope
	}
	h.Set("Content-Type", mediaHTML)
	secure(h, page.Security)
	return body
}

// secure sets the header fields that restrict what an HTML page may load and that keep browsers from sending its URL to linked sites.
func secure(h http.Header, policy string) {
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
}

// wantsHTML reports whether a client requests HTML by name, and does not prefer JSON.
func wantsHTML(fields []string) bool {
	html, json := wanted(fields)
	return html > 0 && html >= json
}

// wantsText reports whether a client requests plain text by name, with a higher weight than JSON and HTML.
func wantsText(fields []string) bool {
	of := weights(fields)
	text := of["text/plain"]
	for kind, weight := range of {
		if kind != "text/plain" && kind != "*/*" && kind != "text/*" && weight >= text {
			return false
		}
	}
	return text > 0
}

// wanted returns the weights, 0 to 1, that the Accept fields of a request give to HTML and JSON by name. It ignores wildcards.
func wanted(fields []string) (html, json float64) {
	of := weights(fields)
	return max(of["text/html"], of["application/xhtml+xml"]), max(of["application/json"], of[wire.MediaType])
}

// weights returns the weights, 0 to 1, that the Accept or Accept-Encoding fields of a request give to media types or codings. An entry with
// an invalid weight has the weight 0. See RFC 9110, sections 12.5.1 and 12.5.3.
func weights(fields []string) map[string]float64 {
	const most = 32 // entries; browsers send fewer
	n, out := 0, map[string]float64{}
	for entry := range strings.SplitSeq(strings.Join(fields, ","), ",") {
		if n++; n > most {
			break
		}
		kind, params, err := mime.ParseMediaType(entry)
		if err != nil {
			continue
		}
		weight := 1.0
		if q, has := params["q"]; has {
			if weight, err = strconv.ParseFloat(q, 64); err != nil || !(weight >= 0 && weight <= 1) {
				weight = 0
			}
		} else if len(params) > 0 && !strings.Contains(kind, "/") {
			weight = 0 // codings have no other parameters
		}
		out[kind] = max(out[kind], weight)
	}
	return out
}
