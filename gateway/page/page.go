package gateway

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"html/template"
	"mime"
	"strconv"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/uimgate/uimgate/intents"
)

//go:embed page/page.html
var frontHTML string

//go:embed page/style.css
var frontCSS string

var frontTemplate = template.Must(template.New("page.html").Parse(frontHTML))

// frontSecurity lets the page do nothing but be read: no script, no image, no form, nothing from
// elsewhere, and only the one style sheet inside it.
var frontSecurity = func() string {
	sum := sha256.Sum256([]byte(frontCSS))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

// A madeOnce is a document that is made when first asked for. A reload makes another Service, and so
// another document.
type madeOnce struct {
	once sync.Once
	page page
	err  error
}

func (m *madeOnce) get(mediaType string, build func() ([]byte, error)) (page, error) {
	m.once.Do(func() {
		m.err = errors.New("making it failed") // stays if build panics
		body, err := build()
		if m.err = err; err == nil {
			m.page = page{body: body, mediaType: mediaType, etag: etagOf(body)}
		}
	})
	return m.page, m.err
}

// front answers GET / for people: what the service is, what it offers and on which terms. Programs that
// do not ask for HTML find nothing here.
func (s *Server) front(c echo.Context) error {
	h := c.Response().Header()
	h.Set("Vary", "Accept")
	if !wantsHTML(c.Request().Header.Values("Accept")) {
		return newFault("NO_SUCH_PATH", "There is nothing at this path for programs.")
	}
	service := exchangeOf(c).service
	p, err := service.front.get("text/html; charset=utf-8", service.frontPage)
	if err != nil {
		return newFault("INTERNAL", "The page could not be written.").because(err)
	}
	h.Set("Content-Security-Policy", frontSecurity)
	h.Set("Referrer-Policy", "no-referrer")
	return document(c, p)
}

func (s *Service) frontPage() ([]byte, error) {
	var b bytes.Buffer
	if err := frontTemplate.Execute(&b, s.frontView()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// wantsHTML reports whether a client asks for HTML by name, and not for JSON rather. RFC 9110 12.5.1.
func wantsHTML(fields []string) bool {
	const most = 32 // media ranges; more is no browser
	html, json := 0.0, 0.0
	n := 0
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
			if weight, err = strconv.ParseFloat(q, 64); err != nil || weight < 0 || weight > 1 {
				continue
			}
		}
		switch kind {
		case "text/html", "application/xhtml+xml":
			html = max(html, weight)
		case "application/json", mediaTypeUIM:
			json = max(json, weight)
		}
	}
	return html > 0 && html >= json
}

// openAPI answers GET /openapi.json.
func (s *Server) openAPI(c echo.Context) error {
	service := exchangeOf(c).service
	p, err := service.openAPI.get("application/json", service.openAPIDocument)
	if err != nil {
		return newFault("INTERNAL", "openapi.json could not be written.").because(err)
	}
	return document(c, p)
}

// maxLicenseField bounds the UIM-License field of results, in bytes.
const maxLicenseField = 512

const headerLicense = "UIM-License"

// licenseField is the licence as results carry it: canonical where it is one of the UIM scheme, else as
// it is written if a header field can hold it (RFC 9110 5.5, ASCII), else empty.
func licenseField(text string) string {
	if l, err := intents.ParseLicense(text); err == nil {
		return l.String()
	}
	text = strings.TrimSpace(text)
	if len(text) > maxLicenseField || strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r > 0x7e }) {
		return ""
	}
	return text
}
