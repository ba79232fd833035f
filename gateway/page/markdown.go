package page

import (
	"bytes"
	"html/template"
	"net/url"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// descriptions renders a subset of CommonMark: paragraphs, lists, code, emphasis and links. It shows HTML, headings and quotes as plain
// text, and images as their alternative text.
var descriptions = goldmark.New(
	goldmark.WithParser(parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewListParser(), 300), util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700), util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(parser.NewCodeSpanParser(), 100), util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300), util.Prioritized(parser.NewEmphasisParser(), 500),
		),
	)),
	goldmark.WithRenderer(renderer.NewRenderer(renderer.WithNodeRenderers(
		util.Prioritized(linkRenderer{}, 100), util.Prioritized(html.NewRenderer(), 1000),
	))),
)

// markdown renders a description, whose length the caller has limited. It renders a single paragraph without the <p> element.
func markdown(text string) template.HTML {
	if !strings.ContainsAny(text, "*_`[<-+\n\\&0123456789") {
		return template.HTML(template.HTMLEscapeString(text)) //nolint:gosec // it is escaped
	}
	var out bytes.Buffer
	if err := descriptions.Convert([]byte(text), &out); err != nil {
		return template.HTML(template.HTMLEscapeString(text)) //nolint:gosec // it is escaped
	}
	made := strings.TrimSpace(out.String())
	if one, ok := strings.CutPrefix(made, "<p>"); ok {
		if one, ok = strings.CutSuffix(one, "</p>"); ok && !strings.Contains(one, "<p>") {
			made = one
		}
	}
	return template.HTML(made) //nolint:gosec // goldmark escapes text, and writes only elements that descriptions allows
}

// linkRenderer renders links with http and https URLs. For all other links, and for images, it renders only the text.
type linkRenderer struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (linkRenderer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindImage, func(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
		return ast.WalkContinue, nil // renders only the text
	})
	r.Register(ast.KindLink, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := n.(*ast.Link); ok && leadsToTheWeb(link.Destination) {
			if entering {
				openLink(w, link.Destination)
			} else {
				_, _ = w.WriteString("</a>")
			}
		}
		return ast.WalkContinue, nil
	})
	r.Register(ast.KindAutoLink, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		link, ok := n.(*ast.AutoLink)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		leads := leadsToTheWeb(link.URL(source))
		if leads {
			openLink(w, link.URL(source))
		}
		_, _ = w.Write(util.EscapeHTML(link.Label(source)))
		if leads {
			_, _ = w.WriteString("</a>")
		}
		return ast.WalkContinue, nil
	})
}

func openLink(w util.BufWriter, to []byte) {
	_, _ = w.WriteString(`<a rel="nofollow" href="`)
	_, _ = w.Write(util.EscapeHTML(util.URLEscape(to, true)))
	_, _ = w.WriteString(`">`)
}

func leadsToTheWeb(to []byte) bool {
	u, err := url.Parse(string(to))
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil
}
