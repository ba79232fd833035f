// Package page writes what a service publishes about itself beside the files of UIM: a page for people, and openapi.json
// for tools.
package page

import (
	"bytes"
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

var frontTemplate = template.Must(template.New("page.html").Parse(frontHTML))

// Security is the Content-Security-Policy of the page. It lets the page do nothing but be read: no script, no image, no
// form, nothing from elsewhere, and only the one style sheet inside it.
var Security = func() string {
	sum := sha256.Sum256([]byte(frontCSS))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

// Front is the page for people, as HTML.
func Front(s *service.Definition) ([]byte, error) {
	var b bytes.Buffer
	if err := frontTemplate.Execute(&b, newFrontView(s)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
