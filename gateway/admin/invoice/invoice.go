// Package invoice renders an invoice as a printable HTML page without scripts or external resources.
//
//	err := invoice.WriteHTML(file, answer)
package invoice

import (
	_ "embed"
	"html/template"
	"io"
	"time"

	"github.com/uimgate/uimgate/gateway/admin"
)

//go:embed invoice.html
var page string

var document = template.Must(template.New("invoice.html").Funcs(template.FuncMap{
	"first": func(t time.Time) string { return t.UTC().Format(time.DateOnly) },
	"last":  func(t time.Time) string { return t.UTC().Add(-time.Nanosecond).Format(time.DateOnly) },
}).Parse(page))

// WriteHTML writes the page of an invoice. Its errors are those of w.
func WriteHTML(w io.Writer, i admin.Invoice) error { return document.Execute(w, i) }
