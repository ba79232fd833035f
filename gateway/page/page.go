// Package page renders the documents that a service publishes in addition to the files of UIM: HTML pages for people, and openapi.json and
// other JSON documents for programs.
package page

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"sync"

	"github.com/uimgate/uimgate/gateway/service"
)

//go:embed *.html
var files embed.FS

//go:embed style.css
var frontCSS string

//go:embed script.js
var frontScript string

// Icon is the icon of the page, as SVG.
//
//go:embed icon.svg
var Icon []byte

// templates are parsed when the first page is requested.
var templates = sync.OnceValue(func() *template.Template { return template.Must(template.ParseFS(files, "*.html")) })

// render executes a template.
func render(name string, data any) ([]byte, error) {
	var b bytes.Buffer
	err := templates().ExecuteTemplate(&b, name, data)
	return b.Bytes(), err
}

// fragment executes a template for a part of a page.
func fragment(name string, data any) (template.HTML, error) {
	text, err := render(name, data)
	return template.HTML(text), err //nolint:gosec // html/template has escaped it
}

// Security is the Content-Security-Policy of static pages. It allows only their inline style sheet: no scripts, images or forms, and no
// resources from other URLs.
var Security = "default-src 'none'; style-src 'sha256-" + hashOf(frontCSS) + "'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'"

// FrontSecurity is the Content-Security-Policy of the front page, which has a search. In addition to Security, it allows the inline script,
// and allows requests, forms and images whose URL has the origin of the page.
var FrontSecurity = "default-src 'none'; style-src 'sha256-" + hashOf(frontCSS) + "'; script-src 'sha256-" + hashOf(frontScript) +
	"'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// A Front renders the HTML front page of one service. It is safe for concurrent use.
type Front struct {
	service *service.Definition
	total   int // number of offered intents
	tags    []tagView
	view    frontView // the parts that do not depend on the query
}

// NewFront prepares the content of the page that does not depend on a query. It evaluates the policy once for each of at most 1,000
// intents.
func NewFront(ctx context.Context, s *service.Definition) *Front {
	offered := s.Offered()
	f := &Front{service: s, total: len(offered), tags: tagsOf(offered)}
	f.view = newFrontView(s)
	f.view.Summary, f.view.MoreTerms = summary(ctx, s, offered)
	return f
}

// Page returns the HTML page for a query. The page is shorter than 100 kB if the intents have a usual size.
func (f *Front) Page(ctx context.Context, q Query) ([]byte, error) {
	v := f.view
	var err error
	if v.Found, err = f.found(ctx, q); err != nil {
		return nil, err
	}
	return render("page.html", &v)
}
