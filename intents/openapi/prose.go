package openapi

import (
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/atom"

	tokens "golang.org/x/net/html"

	"github.com/uimgate/uimgate/internal/regex"
)

// trimmed converts a description in Markdown, HTML or MDX to plain text, and truncates it to maxRunes characters. It returns "" if v is not
// a string.
func trimmed(v any, maxRunes int) string {
	s, _ := v.(string)
	const markup = 8 // only markup*maxRunes bytes of a description are read
	long := len(s) > markup*maxRunes
	if long {
		s = s[:markup*maxRunes]
		if i := strings.LastIndexByte(s, '<'); i > strings.LastIndexByte(s, '>') {
			s = s[:i]
		}
	}
	out := cut(prose(strings.ToValidUTF8(strings.ReplaceAll(s, "\r\n", "\n"), "")), maxRunes)
	if long && out != "" && !strings.HasSuffix(out, "…") {
		out = cut(out+"…", maxRunes)
	}
	return out
}

// cut truncates text to maxRunes characters including an ellipsis, at a space if there is one near the end. It also trims white space.
func cut(s string, maxRunes int) string {
	s = strings.TrimSpace(s)
	if utf8.RuneCountInString(s) <= maxRunes {
		return s
	}
	out := string([]rune(s)[:maxRunes-1])
	if i := strings.LastIndexAny(out, " \n"); i > len(out)*3/4 {
		out = out[:i]
	}
	return strings.TrimSpace(out) + "…"
}

var (
	codePlace = regex.Lazy(`\x{e000}[0-9]+\x{e001}`) // private-use characters that temporarily replace code
	codePart  = regex.Lazy("(?s)```.*?(?:```|\\z)|`[^`\n]+`")
	blanks    = regex.Lazy(`[ \t]+\n`)
	newlines  = regex.Lazy(`\n{3,}`)
)

// prose removes markup that is not part of the text: HTML elements, JSX components and comments, and the targets of links. It does not
// change code in backticks.
func prose(s string) string {
	if !strings.ContainsAny(s, "<&[{") {
		return s
	}
	var code []string // replaced temporarily
	s = strings.NewReplacer("\ue000", "", "\ue001", "").Replace(s)
	s = codePart().ReplaceAllStringFunc(s, func(part string) string {
		code = append(code, part)
		return "\ue000" + strconv.Itoa(len(code)-1) + "\ue001"
	})
	s = withoutLinks(withoutHTML(withoutJSX(s)))
	s = newlines().ReplaceAllString(blanks().ReplaceAllString(s, "\n"), "\n\n")
	return codePlace().ReplaceAllStringFunc(s, func(place string) string {
		n, err := strconv.Atoi(strings.Trim(place, "\ue000\ue001"))
		if err != nil || n >= len(code) {
			return ""
		}
		return code[n]
	})
}

var (
	jsxComment   = regex.Lazy(`(?s)\{/\*.*?\*/\}`)
	jsxComponent = regex.Lazy(`</?[A-Z][A-Za-z0-9.]*(?:\s+[A-Za-z][\w-]*(?:=(?:"[^"]*"|'[^']*'|\{[^{}]*\}))?)*\s*/?>`)
	jsxName      = regex.Lazy(`^</?([A-Z][A-Za-z0-9.]*)`)
)

// withoutJSX removes JSX comments and components. It keeps a tag such as <Name> that has no attributes and no closing tag, because it is
// a placeholder of the author.
func withoutJSX(s string) string {
	s = jsxComment().ReplaceAllString(s, "")
	return jsxComponent().ReplaceAllStringFunc(s, func(tag string) string {
		name := jsxName().FindStringSubmatch(tag)[1]
		if strings.HasPrefix(tag, "</") || strings.HasSuffix(tag, "/>") || strings.Contains(tag, "=") || strings.Contains(s, "</"+name+">") {
			return ""
		}
		return tag
	})
}

var (
	// inlineTags and blockTags are the elements that describe the layout of text. Any other name in angle brackets, such as <id>, is a
	// placeholder of the author.
	inlineTags = []atom.Atom{
		atom.A, atom.Abbr, atom.B, atom.Big, atom.Cite, atom.Code, atom.Del, atom.Em, atom.Font, atom.I, atom.Img, atom.Ins, atom.Kbd,
		atom.Mark, atom.S, atom.Samp, atom.Small, atom.Span, atom.Strike, atom.Strong, atom.Sub, atom.Sup, atom.Tt, atom.U,
	}
	blockTags = []atom.Atom{
		atom.Aside, atom.Blockquote, atom.Br, atom.Center, atom.Dd, atom.Details, atom.Div, atom.Dl, atom.Dt, atom.Figure, atom.Figcaption,
		atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Hr, atom.Li, atom.Ol, atom.P, atom.Pre, atom.Section, atom.Table,
		atom.Tbody, atom.Td, atom.Tfoot, atom.Th, atom.Thead, atom.Tr, atom.Ul,
	}
	hiddenTags = []atom.Atom{atom.Script, atom.Style}
)

// withoutHTML removes the tags of layout elements, comments, scripts and style sheets, and resolves character references.
func withoutHTML(s string) string {
	if !strings.ContainsAny(s, "<&") {
		return s
	}
	var b strings.Builder
	z := tokens.NewTokenizer(strings.NewReader(s))
	skipping := atom.Atom(0)
	for {
		kind := z.Next()
		raw := string(z.Raw()) // before TagName, which changes the buffer to lower case
		var name atom.Atom
		if kind == tokens.StartTagToken || kind == tokens.EndTagToken || kind == tokens.SelfClosingTagToken {
			text, _ := z.TagName()
			name = atom.Lookup(text)
		}
		switch {
		case skipping != 0:
			if kind == tokens.EndTagToken && name == skipping {
				skipping = 0
			}
		case kind == tokens.TextToken:
			b.WriteString(html.UnescapeString(raw))
		case kind == tokens.CommentToken && strings.HasPrefix(raw, "<!--"):
		case kind == tokens.StartTagToken && slices.Contains(hiddenTags, name):
			skipping = name
		case name != 0 && slices.Contains(inlineTags, name):
		case name != 0 && slices.Contains(blockTags, name):
			b.WriteString(lineBreak(name, kind == tokens.EndTagToken))
		default:
			b.WriteString(raw)
		}
		if kind == tokens.StartTagToken && skipping == 0 {
			z.NextIsNotRawText()
		}
		if kind == tokens.ErrorToken { // the end
			return b.String()
		}
	}
}

// lineBreak returns the text that replaces a tag of a block element.
func lineBreak(name atom.Atom, end bool) string {
	switch {
	case name == atom.Li && !end:
		return "\n- "
	case end && (name == atom.Li || name == atom.Td || name == atom.Th):
		return ""
	case name == atom.Td || name == atom.Th:
		return " "
	default:
		return "\n"
	}
}

var (
	target   = `\((?:[^()\s]|\([^()\s]*\))*(?:\s+(?:"[^"]*"|'[^']*'))?\)`
	image    = regex.Lazy(`!\[[^\[\]]*\]` + target)
	link     = regex.Lazy(`(^|[^\w\])])\[([^\[\]]+)\]` + target)
	autolink = regex.Lazy(`<((?:https?://|mailto:)[^<>\s]+)>`)
)

// withoutLinks replaces Markdown links with their text, and removes images.
func withoutLinks(s string) string {
	s = link().ReplaceAllString(image().ReplaceAllString(s, ""), "$1$2")
	return autolink().ReplaceAllString(s, "$1")
}
