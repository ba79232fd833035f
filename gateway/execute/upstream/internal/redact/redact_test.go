package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/gateway/execute/upstream/internal/redact"
)

// jsonText returns a text as encoding/json writes it in a string, without the quotation marks.
func jsonText(s string) string {
	text, _ := json.Marshal(s)
	return string(text[1 : len(text)-1])
}

// asciiJSON returns a text as in a JSON string, with \u escapes for all characters but letters and digits.
func asciiJSON(s string) string {
	var out strings.Builder
	for _, r := range s {
		switch {
		case '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z':
			out.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04X`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&out, `\u%04X`, r)
		}
	}
	return out.String()
}

func lowerPercent(s string) string {
	escaped := []byte(url.QueryEscape(s))
	for i := range escaped {
		if escaped[i] == '%' {
			copy(escaped[i+1:], bytes.ToLower(escaped[i+1:i+3]))
		}
	}
	return string(escaped)
}

// numericEntities writes all characters but letters and digits as numeric references such as &#38;.
func numericEntities(s string) string {
	var out strings.Builder
	for _, r := range s {
		if r < 128 && strings.ContainsRune("+/=&<>\"'\\% !,;", r) || r > 127 {
			fmt.Fprintf(&out, "&#x%X;", r)
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}

func base64At(encoding *base64.Encoding, ahead int) func(string) string {
	return func(s string) string {
		return encoding.EncodeToString([]byte(strings.Repeat("~", ahead) + s + `"}}`))
	}
}

// forms are the encodings that services use for a text in a JSON string.
var forms = map[string]func(string) string{
	"JSON":                        jsonText,
	"JSON in ASCII":               asciiJSON,
	"JSON with escaped slashes":   func(s string) string { return strings.ReplaceAll(jsonText(s), "/", `\/`) },
	"a query":                     url.QueryEscape,
	"a query, lower case":         lowerPercent,
	"a path":                      url.PathEscape,
	"a query with %20":            func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") },
	"a query in a query":          func(s string) string { return url.QueryEscape(url.QueryEscape(s)) },
	"HTML":                        func(s string) string { return jsonText(html.EscapeString(s)) },
	"HTML in numbers":             numericEntities,
	"a query in HTML":             func(s string) string { return jsonText(html.EscapeString(url.QueryEscape(s))) },
	"JSON in JSON":                func(s string) string { return jsonText(jsonText(s)) },
	"JSON in a query":             func(s string) string { return url.QueryEscape(jsonText(s)) },
	"a query in JSON in ASCII":    func(s string) string { return asciiJSON(url.QueryEscape(s)) },
	"base64":                      base64At(base64.StdEncoding, 0),
	"base64, one byte on":         base64At(base64.StdEncoding, 1),
	"base64, two bytes on":        base64At(base64.RawStdEncoding, 2),
	"base64 of URLs":              base64At(base64.RawURLEncoding, 3),
	"base64 in a query":           func(s string) string { return url.QueryEscape(base64At(base64.StdEncoding, 1)(s)) },
	"base64 with escaped slashes": func(s string) string { return strings.ReplaceAll(base64At(base64.StdEncoding, 2)(s), "/", `\/`) },
	"base64 of user and password": base64At(base64.StdEncoding, 5),
}

var secrets = []string{
	"sk_live_51H8", "q+Z/9==&k", "p w+d", `qu"ote\back`, "größe€🔑kéy", "+/+/+/=", "<a&b>'c'", "100%25percent", "a&amp;b=c",
	"-----BEGIN KEY-----\nMIIB/+\n", "k\tv", "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIxIn0.c2ln-_x", `C:\new\u0041`, "12345678", "9a+b",
}

func TestSecretsAreFoundInAllForms(t *testing.T) {
	for _, secret := range secrets {
		for name, form := range forms {
			if strings.HasPrefix(name, "base64") && len(secret) < 6 {
				continue
			}
			t.Run(secret+"/"+name, func(t *testing.T) {
				m := redact.New([]string{"another-secret", secret})
				written := form(secret)
				body := []byte(`{"next":"https://api.example/x?key=` + written + `&page=2","n":1}`)
				if !m.In(string(body)) {
					t.Fatalf("not found in %s", body)
				}
				size := len(body)
				if n := m.Mask(body); n == 0 || len(body) != size || m.In(string(body)) {
					t.Errorf("%d times: %s", n, body)
				}
				if bytes.Contains(body, []byte(written)) {
					t.Errorf("left: %s", body)
				}
				if !json.Valid(body) || !bytes.HasSuffix(body, []byte(`&page=2","n":1}`)) {
					t.Errorf("invalid JSON after masking: %s", body)
				}
			})
		}
	}
}

func TestOtherTextIsUnchanged(t *testing.T) {
	for secret, bodies := range map[string][]string{
		"12345678": {`{"n":123456789}`, `{"n":912345678}`, `{"n":1234567}`},
		"nabcdef":  {`{"a":"\nabcdef"}`},
		"abc+def":  {`{"a":"abc def"}`, `{"a":"abcdef"}`, `{"a":"abc+de"}`, `{"a":"abc%2def"}`},
	} {
		for _, body := range bodies {
			got := []byte(body)
			redact.New([]string{secret}).Mask(got)
			if !json.Valid(got) || secret != "nabcdef" && string(got) != body {
				t.Errorf("%s: %s became %s", secret, body, got)
			}
		}
	}
}

func TestMaskedNumbersStayNumbers(t *testing.T) {
	body := []byte(`{"account":12345678,"text":"12345678"}`)
	if n := redact.New([]string{"12345678"}).Mask(body); n != 2 || string(body) != `{"account":99999999,"text":"99999999"}` {
		t.Errorf("%d: %s", n, body)
	}
}

func TestOverlappingSecretsAreMasked(t *testing.T) {
	m := redact.New([]string{"abc123", "abc123-LONGERRUN", "xx-abc123"})
	body := []byte(`xx-abc123-LONGERRUN abc123`)
	if m.Mask(body); string(body) != strings.Repeat("*", 19)+" "+strings.Repeat("*", 6) {
		t.Errorf("got %s", body)
	}
}

func TestNilMatcherFindsNothing(t *testing.T) {
	if m := redact.New([]string{""}); m != nil || m.In("a") || m.Mask([]byte("a")) != 0 {
		t.Error(m)
	}
}

// FuzzMask masks a secret in a document. The document must remain valid JSON of the same length.
func FuzzMask(f *testing.F) {
	for _, secret := range secrets {
		f.Add(secret, `{"a":["`+jsonText(secret)+`",12345678]}`)
	}
	f.Add(`"`, `{"\\":"\""}`)
	f.Fuzz(func(t *testing.T, secret, document string) {
		var tree any
		if len(secret) < 6 || strings.ContainsAny(secret, `"{}[]:,`) || json.Unmarshal([]byte(document), &tree) != nil {
			return
		}
		body := []byte(document)
		redact.New([]string{secret}).Mask(body)
		if len(body) != len(document) {
			t.Fatal(len(body))
		}
		if err := json.Unmarshal(body, &tree); err != nil {
			t.Fatalf("%q in %s became %s: %v", secret, document, body, err)
		}
	})
}

func BenchmarkMask(b *testing.B) {
	item := `{"id":4711,"title":"A very common album","artist":{"name":"The Example","href":"https://api.example/artists/17"},"price":"9.90"},`
	body := []byte(`[` + strings.Repeat(item, 20<<10/len(item)) + `null]`)
	for _, n := range []int{1, 5, 20} {
		var secrets []string
		for i := range n {
			secrets = append(secrets, fmt.Sprintf("sk_live_%x+%x/9aZ", 0x7fffffff-i*7919, i*104729))
		}
		m := redact.New(secrets)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				m.Mask(body)
			}
		})
	}
}
