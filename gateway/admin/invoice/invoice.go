// Package invoice renders invoices and credit notes as printable HTML pages without scripts or external resources.
//
//	err := invoice.WriteHTML(file, answer)
package invoice

import (
	"embed"
	"html/template"
	"io"
	"sync"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/billing"
)

//go:embed *.html
var pages embed.FS

var documents = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"first": func(t time.Time) string { return t.UTC().Format(time.DateOnly) },
		"last":  func(t time.Time) string { return t.UTC().Add(-time.Nanosecond).Format(time.DateOnly) },
	}).ParseFS(pages, "*.html"))
})

// WriteHTML writes the page of an invoice. Its errors are those of w.
func WriteHTML(w io.Writer, i billing.Invoice) error {
	return documents().ExecuteTemplate(w, "invoice.html", i)
}

// WriteCreditNote writes the page of a credit note. Its errors are those of w.
func WriteCreditNote(w io.Writer, n billing.CreditNote) error {
	return documents().ExecuteTemplate(w, "creditnote.html", n)
}
