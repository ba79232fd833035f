// Package page renders what a service publishes about itself in addition to the files of UIM: a page for people, and openapi.json for
// tools.
package page

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"

	"github.com/uimgate/uimgate/gateway/service"
)

//go:embed page.html
var frontHTML string

//go:embed style.css
var frontCSS string

//go:embed script.js
var frontScript string

// Icon is the icon of the page, as SVG.
//
//go:embed icon.svg
var Icon []byte

var frontTemplate = template.Must(template.New("page.html").Parse(frontHTML))

// Security is the Content-Security-Policy of pages that can only be read: no script, no image, no form, nothing from elsewhere, and only
// the one style sheet inside them.
var Security = "default-src 'none'; style-src 'sha256-" + hashOf(frontCSS) + "'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'"

// FrontSecurity is that of the page with the search: in addition it may run its one inline script, send requests to its own address, send
// its form there and show its icon.
var FrontSecurity = "default-src 'none'; style-src 'sha256-" + hashOf(frontCSS) + "'; script-src 'sha256-" + hashOf(frontScript) +
	"'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// A Front makes the page for people of one service. It is safe for concurrent use.
type Front struct {
	service *service.Definition
	total   int // intents offered
	tags    []tagView
	view    frontView // the parts that do not depend on the query
}

// NewFront reads the content of the page. It evaluates the policy once for each of at most 1,000 intents.
func NewFront(ctx context.Context, s *service.Definition) *Front {
	offered := s.Offered()
	f := &Front{service: s, total: len(offered), tags: tagsOf(offered)}
	f.view = newFrontView(s)
	f.view.Summary, f.view.MoreTerms = summary(ctx, s, offered)
	return f
}

// Page returns the page for a query, as HTML of less than 100 kB if the intents are of usual size.
func (f *Front) Page(ctx context.Context, q Query) ([]byte, error) {
	v := f.view
	var err error
	if v.Found, err = f.found(ctx, q); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := frontTemplate.Execute(&b, &v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
