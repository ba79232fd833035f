package relay

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page serves an HTML page that describes the relay.
func (r *Relay) page(w http.ResponseWriter, _ *http.Request) {
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, map[string]any{
		"Version": r.options.Version, "Prefix": r.options.Prefix, "Limits": r.limits, "BlobMiB": r.limits.Blob >> 20,
	}); err != nil {
		r.refuse(w, unavailable("the page could not be rendered"))
		return
	}
	hurry(w, r.times.write)
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	_, _ = w.Write(out.Bytes())
}

// described is the OpenAPI 3.1 description of the relay.
//
//go:embed openapi.json
var described []byte

func (r *Relay) describe(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	_ = r.text(w, http.StatusOK, bytes.ReplaceAll(described, []byte(`"url": "/"`), []byte(`"url": "`+r.options.Prefix+`/"`)))
}
