package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

const photoDocument = `openapi: 3.0.3
info: {title: Photos, version: '1'}
servers: [{url: 'https://api.corner.example'}]
paths:
  /photos:
    post:
      operationId: addPhoto
      requestBody:
        content:
          multipart/form-data:
            encoding: {photo: {contentType: 'image/png, image/jpeg'}}
            schema:
              type: object
              required: [photo, album]
              properties: {photo: {type: string, format: binary}, about: {type: object}, album: {type: string}}
      responses: {'200': {description: ok, content: {application/json: {schema: {type: object, properties: {size: {type: integer}, seen: {type: string}}}}}}}
  /photos/{id}:
    get:
      operationId: getPhoto
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses: {'200': {description: ok, content: {image/png: {schema: {type: string, format: binary}}}}}
    put:
      operationId: putPhoto
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      requestBody: {required: true, content: {application/octet-stream: {schema: {type: string, format: binary}}}}
      responses: {'204': {description: ok}}
  /photos.csv:
    get: {operationId: listPhotos, responses: {'200': {description: ok, content: {text/csv: {schema: {type: string}}}}}}
`

// Files are uploaded and downloaded, with a secret of the operator in one part. A repeated upload is not sent again, and the audit file
// contains nothing of the files.
func TestInitFileUploads(t *testing.T) {
	t.Parallel()
	dir, found := made(t, []byte(photoDocument))
	if len(found.Intents) != 4 {
		t.Fatalf("got %v", found.Unmapped)
	}
	file := filepath.Join(dir, "uimgate.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	filled := strings.Replace(string(text), "  upstream:\n", "  fixed: {album: canary-album}\n  upstream:\n", 1)
	if err := os.WriteFile(file, []byte(filled), 0o600); err != nil {
		t.Fatal(err)
	}
	photo := "\x89PNG\r\n\x1a\n" + strings.Repeat("canary-photo\r\n--", 40_000)
	var uploads atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("POST /photos", func(w http.ResponseWriter, r *http.Request) {
		uploads.Add(1)
		sent, header, err := r.FormFile("photo")
		if err != nil {
			t.Error(err)
			return
		}
		data, _ := io.ReadAll(sent)
		if album := r.FormValue("album"); album != "canary-album" { // the operator sets it; agents do not see it
			t.Errorf("album %q, want %q", album, "canary-album")
		}
		if string(data) != photo {
			t.Errorf("%d bytes arrived of %d", len(data), len(photo))
		}
		_, _ = fmt.Fprintf(w, `{"size":%d,"seen":%q}`, len(data), header.Filename+" "+header.Header.Get("Content-Type")+" "+
			r.FormValue("about")+" "+r.FormValue("album"))
	})
	mux.HandleFunc("GET /photos/{id}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		_, _ = io.WriteString(w, photo)
	})
	mux.HandleFunc("PUT /photos/7", func(w http.ResponseWriter, r *http.Request) {
		if data, _ := io.ReadAll(r.Body); string(data) != "\x00\x01" || r.Header.Get("Content-Type") != "application/octet-stream" {
			t.Errorf("got %s %q", r.Header.Get("Content-Type"), data)
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /photos.csv", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		_, _ = io.WriteString(w, "id,höhe\n")
	})
	service := httptest.NewServer(mux)
	t.Cleanup(service.Close)
	url := runMade(t, dir, service.URL)
	token := agreeTo(t, url)
	b64 := base64.StdEncoding.EncodeToString
	type parameters map[string]any
	for _, tt := range []struct {
		name       string
		parameters parameters
		status     int
		want       string // the response, or a part of it
	}{
		{"add-photo", parameters{"photo": b64([]byte(photo)), "about": map[string]any{"k": 1}}, 200, fmt.Sprintf(`{"seen":"photo.png image/png {\"k\":1} ************","size":%d}`, len(photo))},
		{"add-photo", parameters{"photo": b64([]byte(photo)), "about": map[string]any{"k": 1}}, 200, fmt.Sprintf(`{"seen":"photo.png image/png {\"k\":1} ************","size":%d}`, len(photo))},
		{"add-photo", parameters{"photo": "canary no base64"}, 400, `"pointer":"/parameters/photo"`},
		{"add-photo", parameters{"photo": strings.Repeat("A", 1_000_004)}, 400, "PARAMETER_TOO_LONG"},
		{"put-photo", parameters{"id": "7", "content": "AAE="}, 200, `{}`},
		{"put-photo", parameters{"id": "7"}, 400, "MISSING_PARAMETER"},
		{"get-photo", parameters{"id": "7"}, 200, fmt.Sprintf(`{"content":%q,"content_encoding":"base64","content_type":"image/png"}`, b64([]byte(photo)))},
		{"list-photos", parameters{}, 200, `{"content":"id,höhe\n","content_type":"text/csv"}`},
	} {
		body, err := json.Marshal(map[string]any{"intent_uid": "api.example.com:" + tt.name + ":v1", "parameters": tt.parameters})
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/intents/execute", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + token}}
		if tt.status == 200 {
			r.Header.Set("Idempotency-Key", tt.name)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		got := strings.TrimSpace(string(answer))
		fits := strings.Contains(got, tt.want)
		if tt.status == 200 {
			fits = tree(t, got) == tree(t, tt.want)
		}
		if response.StatusCode != tt.status || !fits || strings.Contains(got, "canary no") {
			t.Errorf("%s: %d %.300s", tt.name, response.StatusCode, got)
		}
	}
	if n := uploads.Load(); n != 1 {
		t.Errorf("got %d uploads, want 1", n)
	}
	audit, err := os.ReadFile(filepath.Join(dir, "data", "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(audit, []byte("add-photo")) || bytes.Contains(audit, []byte("canary")) ||
		bytes.Contains(audit, []byte(b64([]byte(photo))[:40])) {
		t.Errorf("the audit file: %.1000s", audit)
	}
}
