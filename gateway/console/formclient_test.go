package console_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/uimgate/uimgate/gateway/admin/api"
)

// A presser presses the buttons of forms. A form is given as a selector.
type presser interface {
	forms(path string) []string
	show(path string)
	confirmed(form string, fields map[string]string)
	status() string
	text() string
}

// presser returns a person in a role who uses a tab of Chromium if clicks is set, and otherwise a client that sends the same forms.
func (g *consoleGate) presser(role api.Role, clicks bool) presser {
	g.Helper()
	if !clicks {
		return &formClient{browser: g.as(role)}
	}
	b := g.tab(chromium(g.T))
	b.signIn(role)
	return b
}

// A formClient parses pages and sends their forms without a browser.
type formClient struct {
	*browser
	path string // of the page; empty after a form was sent
	page *html.Node
}

func (c *formClient) parse(got pageResponse) {
	c.Helper()
	doc, err := html.Parse(strings.NewReader(got.body))
	c.Must(err)
	c.page = doc
}

func (c *formClient) show(path string) {
	c.Helper()
	if c.path != path {
		c.parse(c.get(path))
		c.path = path
	}
}

func (c *formClient) forms(path string) []string {
	c.Helper()
	c.path = ""
	c.show(path)
	var found []string
	for main := range elements(c.page, "main") {
		for form := range elements(main, "form") {
			if attribute(form, "method") == "post" {
				found = append(found, selector(form))
			}
		}
	}
	return found
}

func (c *formClient) press(selected string, fields map[string]string) {
	c.Helper()
	for form := range elements(c.page, "form") {
		if selector(form) != selected {
			continue
		}
		got := c.post(attribute(form, "action"), filled(form, fields))
		if got.status == http.StatusSeeOther {
			got = c.get(got.header.Get("Location"))
		}
		c.path = ""
		c.parse(got)
		return
	}
	c.Fatalf("the page has no form %s", selected)
}

func (c *formClient) confirmed(form string, fields map[string]string) {
	c.Helper()
	c.press(form, fields)
	for input := range elements(c.page, "input") {
		if attribute(input, "name") == "confirmed" {
			c.press(form, map[string]string{"credential": adminToken})
			return
		}
	}
}

func (c *formClient) status() string {
	for n := range c.page.Descendants() {
		classes := strings.Fields(attribute(n, "class"))
		if slices.Contains(classes, "done") || slices.Contains(classes, "problem") {
			return content(n)
		}
	}
	for title := range elements(c.page, "h1") {
		return content(title)
	}
	return ""
}

func (c *formClient) text() string { return content(c.page) }

// elements returns the elements below a node that have a name.
func elements(below *html.Node, name string) func(yield func(*html.Node) bool) {
	return func(yield func(*html.Node) bool) {
		for n := range below.Descendants() {
			if n.Type == html.ElementNode && n.Data == name && !yield(n) {
				return
			}
		}
	}
}

// attribute returns the value of an attribute, or an empty string.
func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, key string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
}

func content(below *html.Node) string {
	var text strings.Builder
	for n := range below.Descendants() {
		if n.Type == html.TextNode {
			text.WriteString(n.Data)
		}
	}
	return text.String()
}

// selector returns the selector of a form, as tab.forms does.
func selector(form *html.Node) string {
	selected := `form[action="` + attribute(form, "action") + `"]`
	for input := range elements(form, "input") {
		if attribute(input, "name") == "kind" {
			selected += `:has([name=kind][value="` + attribute(input, "value") + `"])`
		}
	}
	return selected
}

// filled returns what a browser sends of a form after a person has filled in fields. Fields that the form lacks are ignored.
func filled(form *html.Node, fields map[string]string) url.Values {
	values := url.Values{}
	for n := range form.Descendants() {
		name := attribute(n, "name")
		value, fill := fields[name]
		switch {
		case n.Type != html.ElementNode || name == "":
		case n.Data == "input" && attribute(n, "type") == "checkbox":
			if has(n, "checked") {
				values.Add(name, attribute(n, "value"))
			}
		case n.Data == "input":
			if !fill {
				value = attribute(n, "value")
			}
			values.Add(name, value)
		case n.Data == "textarea":
			if !fill {
				value = content(n)
			}
			values.Add(name, strings.ReplaceAll(value, "\n", "\r\n"))
		case n.Data == "select":
			selectOption(values, name, n, fields)
		}
	}
	return values
}

// selectOption adds the option that is selected. If the field has a value that is not an option, a browser sends none.
func selectOption(values url.Values, name string, list *html.Node, fields map[string]string) {
	want, fill := fields[name]
	var options, selected []string
	for o := range elements(list, "option") {
		value := attribute(o, "value")
		options = append(options, value)
		if has(o, "selected") {
			selected = append(selected, value)
		}
	}
	switch {
	case fill && slices.Contains(options, want):
		values.Add(name, want)
	case fill:
	case len(selected) > 0:
		values.Add(name, selected[len(selected)-1])
	case len(options) > 0:
		values.Add(name, options[0])
	}
}
