package door

import "net/http"

// MaxDocument is the maximum length of the Body of a Document, in bytes.
const MaxDocument = 1 << 20

// A Document is the response of the service's own listener to a GET request.
type Document struct {
	Status    int
	MediaType string
	Body      []byte
	TooLarge  bool // the response is longer than MaxDocument, so Body is incomplete
}

// A DocumentWriter is an http.ResponseWriter that keeps the response as a Document.
type DocumentWriter struct {
	Document

	header http.Header
}

// NewDocumentWriter returns a DocumentWriter.
func NewDocumentWriter() *DocumentWriter { return &DocumentWriter{header: http.Header{}} }

// Header implements http.ResponseWriter.
func (w *DocumentWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *DocumentWriter) WriteHeader(status int) {
	if w.Status == 0 {
		w.Status, w.MediaType = status, w.header.Get("Content-Type")
	}
}

// Write implements http.ResponseWriter. It discards everything beyond MaxDocument.
func (w *DocumentWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if left := MaxDocument - len(w.Body); len(p) > left {
		w.Body, w.TooLarge = append(w.Body, p[:left]...), true
	} else {
		w.Body = append(w.Body, p...)
	}
	return len(p), nil
}
