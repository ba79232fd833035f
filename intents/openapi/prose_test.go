package openapi_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/uimgate/uimgate/intents/openapi"
)

// described returns the description of the intent of an operation with this summary and description.
func described(t *testing.T, summary, description string) string {
	t.Helper()
	data, err := json.Marshal(map[string]any{
		"openapi": "3.0.0", "info": map[string]any{"version": "1", "description": description},
		"servers": []any{map[string]any{"url": "https://s.example"}},
		"paths":   map[string]any{"/a": map[string]any{"get": map[string]any{"summary": summary, "description": description}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return convert(t, data, openapi.Options{}).Intents[0].Tree["description"].(string)
}

func TestDescriptionsArePlainText(t *testing.T) {
	for name, tt := range map[string][2]string{
		"HTML":                 {`<p>Lists <b>all</b>&nbsp;<a href="https://s.example/x">cards</a>.</p><p>At&amp;T</p>`, "Lists all\u00a0cards.\n\nAt&T"},
		"a list":               {"Either:<ul><li>one</li><li class='x'>two</li></ul>", "Either:\n\n- one\n- two"},
		"a table":              {"<table><tr><td>a</td><td>b</td></tr></table>", "a b"},
		"a line break":         {"one<br/>two", "one\ntwo"},
		"a comment":            {"<!-- ReDoc-Inject: <security> -->One.", "One."},
		"a script":             {"One.<script>if (a < b) steal()</script><style>p {}</style> Two.", "One. Two."},
		"placeholders":         {"PUT /books/<title>/<id>, List<String>, <Name> and a < b && c > d </3", "PUT /books/<title>/<id>, List<String>, <Name> and a < b && c > d </3"},
		"escaped placeholders": {"Send &lt;id&gt;", "Send <id>"},
		"JSX":                  {"{/* hidden */}<Note type=\"x\" items={['a', 'b']}>Read this.</Note><Divider /> Then <Tabs>go</Tabs>.", "Read this. Then go."},
		"links":                {"See [the guide](https://s.example/a_(b) \"Guide\"), [tags](#tag/X) and <https://s.example/>.", "See the guide, tags and https://s.example/."},
		"a link with code":     {"The [`name`](#name) and \ue0007\ue001.", "The `name` and 7."},
		"an image":             {"![logo](/logo.png)Draws.", "Draws."},
		"not a link":           {"list[0](x) and [optional] (really)", "list[0](x) and [optional] (really)"},
		"code":                 {"Use `<b>[a](b)</b>` or\n```\n<p>&amp;</p>\n```\nas is.", "Use `<b>[a](b)</b>` or\n```\n<p>&amp;</p>\n```\nas is."},
		"empty lines":          {"<div>\n\n<p>One.</p>  \n\n\n<p>Two.</p></div>", "One.\n\nTwo."},
		"an open tag":          {"One <a href=", "One <a href="},
		"plain":                {"Nothing * of _this_ # changes.", "Nothing * of _this_ # changes."},
	} {
		if got := described(t, "", tt[0]); got != tt[1] {
			t.Errorf("%s: %q, want %q", name, got, tt[1])
		}
	}
}

func TestDescriptionsAreBounded(t *testing.T) {
	for name, text := range map[string]string{
		"words": strings.Repeat("word ", 1000), "one word": strings.Repeat("ü", 5000), "markup": strings.Repeat("<p>word</p>", 1000),
		"open brackets": strings.Repeat("<", 100_000) + strings.Repeat("[", 100_000), "backticks": strings.Repeat("`", 99_999),
	} {
		if got := described(t, strings.Repeat("summary ", 100), text); utf8.RuneCountInString(got) > 1000 || !utf8.ValidString(got) {
			t.Errorf("%s: %d characters", name, utf8.RuneCountInString(got))
		}
	}
}
