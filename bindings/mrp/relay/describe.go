package relay

import (
	"bytes"
	_ "embed"
	"net/http"
)

// described is the description of the interface. OpenAPI 3.1.
//
//go:embed openapi.json
var described []byte

func (r *Relay) describe(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	_ = r.text(w, http.StatusOK, bytes.ReplaceAll(described, []byte(`"url": "/"`), []byte(`"url": "`+r.options.Prefix+`/"`)))
}
