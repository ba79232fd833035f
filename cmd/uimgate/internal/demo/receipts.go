package demo

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/receipts"
	"github.com/uimgate/uimgate/internal/privatefile"
)

// receiptsDir returns the directory in which the agent keeps its receipts.
func (t *tour) receiptsDir() string { return filepath.Join(filepath.Dir(t.data), "receipts") }

// receipts verifies the receipts of the agent without the gateway, and then an altered copy, which must fail.
func (t *tour) receipts(context.Context, *agent.Client) error {
	book := t.service.Book()
	report, err := book.Verify()
	if err != nil {
		return err
	}
	t.printf("   %d calls, %d receipts: signatures, requests, answers, amounts and order verified with the keys from step 3\n",
		report.Calls, report.Receipts)
	if err := expect(report.OK && report.Receipts == 3, "a valid receipt for each of the three orders"); err != nil {
		return err
	}
	altered, err := t.alteredCopy(book)
	if err != nil {
		return err
	}
	if report, err = altered.Verify(); err != nil {
		return err
	}
	for _, p := range report.Problems {
		t.printf("   a copy with one altered byte: %s\n", p)
	}
	return expect(!report.OK, "the altered byte to be found")
}

// alteredCopy returns a copy of a book in which one byte of the first receipt differs.
func (t *tour) alteredCopy(book *receipts.Book) (*receipts.Book, error) {
	const most = 1 << 20
	text, err := privatefile.Read(book.Path(), most)
	if err != nil {
		return nil, err
	}
	name := []byte(`"receipt":"`)
	at := bytes.Index(text, name)
	if at < 0 {
		return nil, errors.New("expected a receipt in the file")
	}
	const payload = 200 // how many bytes the altered byte is after the beginning of the receipt
	at += len(name) + payload
	if text[at] != 'A' {
		text[at] = 'A'
	} else {
		text[at] = 'B'
	}
	path := filepath.Join(t.receiptsDir(), "altered"+receipts.Extension)
	return receipts.Open(path), privatefile.Write(path, text)
}
