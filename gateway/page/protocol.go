package page

import (
	"bytes"
	_ "embed"
	"html/template"
	"path"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/uimgate/uimgate/docs/protocols"
)

// ProtocolPath is the path of the page about the protocol.
const ProtocolPath = "/docs/protocol"

// proofSection is the fragment of the section about proofs of key.
const proofSection = "#the-proof-uim-proofjwt"

// repository is the address of the documents that the page about the protocol links to and that the gateway does not serve.
const repository = "https://github.com/uimgate/uimgate/blob/main/"

// Protocol returns the page about the protocol as HTML. It is the same for every service.
var Protocol = sync.OnceValues(func() ([]byte, error) {
	var body bytes.Buffer
	if err := documents.Convert(ProtocolMarkdown(), &body); err != nil {
		return nil, err
	}
	return render("protocol.html", struct {
		Style template.CSS
		Text  template.HTML
	}{template.CSS(frontCSS), template.HTML(body.String())}) //nolint:gosec // constant files of this program
})

// documents renders the Markdown pages of this program, with tables, and with headings that links can refer to.
var documents = goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// ProtocolMarkdown returns the page about the protocol as Markdown. Its links are replaced as in published.
var ProtocolMarkdown = sync.OnceValue(func() []byte {
	source := protocols.UIM
	tree := documents.Parser().Parse(text.NewReader(source))
	out := string(source)
	_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := n.(*ast.Link); ok && entering {
			to := string(link.Destination)
			out = strings.ReplaceAll(out, "]("+to+")", "]("+published(to)+")")
		}
		return ast.WalkContinue, nil
	})
	return []byte(out)
})

// published returns the destination of a link on a page of docs/protocols in a form that works outside the repository.
func published(to string) string {
	switch {
	case strings.HasPrefix(to, "#"), strings.Contains(to, "://"):
		return to
	case to == "../reference/errors.md":
		return "../errors"
	default:
		return repository + path.Join("docs/protocols", to)
	}
}
