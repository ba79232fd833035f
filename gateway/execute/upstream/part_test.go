package upstream_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/store"
)

const png = "\x89PNG\r\n\x1a\n and more"

// partsOf returns the name, file name, type and value of each part of a request.
func partsOf(r *http.Request) ([]string, error) {
	media, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "multipart/form-data" {
		data, err := io.ReadAll(r.Body)
		return []string{r.Header.Get("Content-Type") + " " + string(data)}, err
	}
	var out []string
	for reader := multipart.NewReader(r.Body, parameters["boundary"]); ; {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return out, err
		}
		out = append(out, strings.Join([]string{part.FormName(), part.FileName(), part.Header.Get("Content-Type"), string(data)}, "|"))
	}
}

// The service receives the parts of a multipart body, or a file as the whole body. Invalid values are refused before.
func TestFileBodies(t *testing.T) {
	got := make(chan []string, 1)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts, err := partsOf(r)
		if err != nil {
			t.Error(err)
		}
		got <- parts
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(service.Close)
	u := open(t, settings(t, service.URL))
	const multi, whole = "multipart/form-data", "application/octet-stream"
	b64 := base64.StdEncoding.EncodeToString
	file := map[string]upstream.Part{"a": {Base64: true}}
	for name, tt := range map[string]struct {
		contentType string
		parts       map[string]upstream.Part
		fixed       upstream.FixedValues
		in          string
		want        []string
		refused     string // in the message about a
	}{
		"text, number and object": {
			multi, nil,
			upstream.FixedValues{},
			`{"a":"é\r\n--x","b":1.50,"c":{"k":[1]}}`,
			[]string{"a|||é\r\n--x", "b|||1.50", `c||application/json|{"k":[1]}`},
			"",
		},
		"a list and null": {multi, nil, upstream.FixedValues{}, `{"a":["x",null,{"k":1}],"b":null}`, []string{"a|||x", `a||application/json|{"k":1}`}, ""},
		"a file after other parts": {
			multi, file, upstream.FixedValues{}, `{"a":"` + b64([]byte(png)) + `","b":"x"}`, []string{"b|||x", "a|a.bin|application/octet-stream|" + png}, "",
		},
		"file with a media type": {
			multi,
			map[string]upstream.Part{"a": {Base64: true, MediaType: "image/png"}, "b": {MediaType: "text/csv; charset=utf-8"}},
			upstream.FixedValues{},
			`{"a":["AA==",""],"b":"1,2"}`,
			[]string{"b||text/csv; charset=utf-8|1,2", "a|a.png|image/png|\x00", "a|a.png|image/png|"},
			"",
		},
		"file with one of several media types": {
			multi,
			map[string]upstream.Part{"a": {Base64: true, MediaType: "image/jpeg, image/png"}},
			upstream.FixedValues{},
			`{"a":["` + b64([]byte(png)) + `","AA=="]}`,
			[]string{"a|a.png|image/png|" + png, "a|a.jpg|image/jpeg|\x00"},
			"",
		},
		"file with a media range": {
			multi,
			map[string]upstream.Part{"a": {Base64: true, MediaType: "image/*"}},
			upstream.FixedValues{},
			`{"a":["` + b64([]byte(png)) + `","AA=="]}`,
			[]string{"a|a.png|image/png|" + png, "a|a.bin|application/octet-stream|\x00"},
			"",
		},
		"file with a name": {
			multi,
			map[string]upstream.Part{"a": {Base64: true, MediaType: "image/png, text/csv"}},
			upstream.FixedValues{},
			`{"a":["data:text/csv;name=..%2Fmy%20%22l%C3%A4mp%22%0D%0AX%E2%80%AE.csv;base64,QSxC","data:video/mp4;name=..;base64,QUI=","data:;base64,QUI="]}`,
			[]string{`a|my "lämp"X.csv|text/csv|A,B`, "a|a.png|image/png|AB", "a|a.png|image/png|AB"},
			"",
		},
		"file with a long name": {
			multi, file,
			upstream.FixedValues{},
			`{"a":"data:image/png;name=` + strings.Repeat("é", 200) + `.png;base64,AA=="}`,
			[]string{"a|" + strings.Repeat("é", 125) + ".png|image/png|\x00"},
			"",
		},
		"the whole body with a media type": {whole, file, upstream.FixedValues{}, `{"a":"data:image/png;name=a.png;base64,AA=="}`, []string{"image/png \x00"}, ""},
		"data URL without base64":          {multi, file, upstream.FixedValues{}, `{"a":"data:text/plain,canary"}`, nil, "base64"},
		"data URL with bad base64":         {multi, file, upstream.FixedValues{}, `{"a":"data:text/plain;base64,canary!"}`, nil, "base64"},
		"fixed members": {
			multi, file,
			upstream.FixedValues{Body: map[string]any{`to"ken`: "s"}, Parameters: map[string]any{"b": "own"}},
			`{"a":"AA=="}`,
			[]string{`to"ken|||s`, "b|||own", "a|a.bin|application/octet-stream|\x00"},
			"",
		},
		"JSON of a vendor":  {"application/merge-patch+json", nil, upstream.FixedValues{}, `{"a":1}`, []string{`application/merge-patch+json {"a":1}`}, ""},
		"no parts":          {multi, nil, upstream.FixedValues{}, `{}`, nil, ""},
		"the whole body":    {whole, file, upstream.FixedValues{}, `{"a":"` + b64([]byte(png)) + `"}`, []string{whole + " " + png}, ""},
		"a whole text":      {whole, map[string]upstream.Part{"a": {MediaType: "text/csv"}}, upstream.FixedValues{}, `{"a":"1,2"}`, []string{"text/csv 1,2"}, ""},
		"missing body":      {whole, file, upstream.FixedValues{}, `{}`, []string{whole + " "}, ""},
		"not base64":        {multi, file, upstream.FixedValues{}, `{"a":"canary!"}`, nil, "base64"},
		"without padding":   {multi, file, upstream.FixedValues{}, `{"a":"AA"}`, nil, "padding"},
		"unused bits set":   {multi, file, upstream.FixedValues{}, `{"a":"AB=="}`, nil, "base64"},
		"with a line break": {whole, file, upstream.FixedValues{}, `{"a":"AAAA\r\nAA=="}`, nil, "without line breaks"},
		"base64url":         {whole, file, upstream.FixedValues{}, `{"a":"_-=="}`, nil, "base64"},
		"a number":          {multi, file, upstream.FixedValues{}, `{"a":1}`, nil, "base64"},
		"too many parts":    {multi, nil, upstream.FixedValues{}, `{"a":[0` + strings.Repeat(",0", 1000) + `]}`, nil, "more than 1000 parts"},
	} {
		t.Run(name, func(t *testing.T) {
			e := upstream.Endpoint{
				IntentUID: "shop.example:try:v1", URL: "https://shop.example/try", ContentType: tt.contentType,
				Parameters: []string{"a", "b", "c"}, Parts: tt.parts, Fixed: tt.fixed,
			}
			if tt.contentType == whole {
				e.URL += "?b={b}&c={c}"
			}
			r, err := u.Route(e)
			if err != nil {
				t.Fatal(err)
			}
			in, err := strictjson.DecodeObject([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			p, violations := r.Prepare(in)
			if tt.refused != "" {
				if len(violations) != 1 || violations[0].Parameter != "a" || !strings.Contains(violations[0].Message, tt.refused) ||
					strings.Contains(violations[0].Message, "canary") {
					t.Errorf("%v, want %q about a", violations, tt.refused)
				}
				return
			}
			if _, _, err := u.Call(t.Context(), p, upstream.Identity{}, live); err != nil {
				t.Fatal(violations, err)
			}
			if diff := cmp.Diff(tt.want, <-got); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInvalidFileBodies(t *testing.T) {
	t.Parallel()
	u := open(t, settings(t, "http://10.0.0.9:9000"))
	for want, e := range map[string]upstream.Endpoint{
		"but 2 parameters":          {ContentType: "application/octet-stream"},
		"cannot contain fixed":      {ContentType: "application/octet-stream", URL: "?b={b}", Fixed: upstream.FixedValues{Body: map[string]any{"x": "y"}}},
		`contentMediaType of "a"`:   {ContentType: "multipart/form-data", Parts: map[string]upstream.Part{"a": {MediaType: "image"}}},
		`contentMediaType of "b"`:   {ContentType: "multipart/form-data", Parts: map[string]upstream.Part{"b": {MediaType: "a/b; c=\"\r\nX: y\""}}},
		"fixed value of a must be":  {ContentType: "multipart/form-data", Parts: map[string]upstream.Part{"a": {Base64: true}}, Fixed: upstream.FixedValues{Parameters: map[string]any{"a": "canary"}}},
		"multipart/form-data or ap": {ContentType: "multipart/mixed"},
	} {
		e.IntentUID, e.URL, e.Parameters = "shop.example:try:v1", "https://shop.example/try"+e.URL, []string{"a", "b"}
		if _, err := u.Route(e); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Responses that are not JSON.
func TestContentResponses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		accept  string
		answer  string // status, type and body, separated by |
		want    string // the output as JSON, or a part of the error
		outcome store.Outcome
	}{
		"a file":                           {"application/pdf", "200|application/pdf; x=y|\x00\xff", `{"content":"AP8=","content_encoding":"base64","content_type":"application/pdf"}`, store.Done},
		"an empty file":                    {"application/pdf", "200|application/pdf|", `{"content":"","content_encoding":"base64","content_type":"application/pdf"}`, store.Done},
		"no content":                       {"application/pdf", "204|application/pdf|", `{}`, store.Done},
		"file with a media range":          {"image/*", "200|image/png|x", `{"content":"eA==","content_encoding":"base64","content_type":"image/png"}`, store.Done},
		"file without a media type":        {"image/*", "200||x", `{"content":"eA==","content_encoding":"base64","content_type":"application/octet-stream"}`, store.Done},
		"any bytes":                        {"application/octet-stream", "200|text/csv|x", `{"content":"eA==","content_encoding":"base64","content_type":"text/csv"}`, store.Done},
		"a file that is JSON":              {"application/octet-stream", "200|application/json|{}", `{"content":"e30=","content_encoding":"base64","content_type":"application/json"}`, store.Done},
		"a text":                           {"text/csv", "200|text/csv; charset=utf-8|é,1", `{"content":"é,1","content_type":"text/csv"}`, store.Done},
		"a text of a range":                {"text/*", "200|text/plain|", `{"content":"","content_type":"text/plain"}`, store.Done},
		"requested HTML":                   {"text/html", "200|text/html|p", `{"content":"p","content_type":"text/html"}`, store.Done},
		"a text that is not UTF-8":         {"text/plain", "200|text/plain|\xff", `{"content":"/w==","content_encoding":"base64","content_type":"text/plain"}`, store.Done},
		"XML":                              {"application/atom+xml", "200|application/atom+xml|a", `{"content":"a","content_type":"application/atom+xml"}`, store.Done},
		"JSON instead of a declared type":  {"application/json, text/csv", "200|application/json|{\"a\":1}", `{"a":1}`, store.Done},
		"other type in the declared range": {"image/jpg", "200|image/jpeg|x", `{"content":"eA==","content_encoding":"base64","content_type":"image/jpeg"}`, store.Done},
		"another text":                     {"text/csv", "200|text/plain|x", `{"content":"x","content_type":"text/plain"}`, store.Done},
		"HTML for a text":                  {"text/csv", "200|text/html|<p>", "it is text/html, not text/csv", store.Done},
		"another type":                     {"application/pdf", "200|image/png|canary", "it is image/png, not application/pdf", store.Done},
		"JSON instead":                     {"application/pdf", "200|application/json|{}", "it is application/json, not application/pdf", store.Done},
		"a login page":                     {"*/*", "200|text/html|<p>", "it is text/html, not */*", store.Done},
		"too long":                         {"application/pdf", "200|application/pdf|" + strings.Repeat("x", 2000), "longer than max_response", store.Done},
		"a refusal":                        {"application/pdf", `404|application/json|{"message":"no such file"}`, "no such file", store.Failed},
		"JSON by default":                  {"", "200|application/pdf|x", "not acceptable JSON", store.Done},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			accepted := make(chan string, 1)
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				accepted <- r.Header.Get("Accept")
				part := strings.SplitN(tt.answer, "|", 3)
				w.Header()["Content-Type"] = nil
				if part[1] != "" {
					w.Header().Set("Content-Type", part[1])
				}
				status := 0
				_, _ = fmt.Sscan(part[0], &status)
				w.WriteHeader(status)
				_, _ = io.WriteString(w, part[2])
			}))
			t.Cleanup(service.Close)
			cfg := settings(t, service.URL)
			cfg.MaxResponse = 1000
			u := open(t, cfg)
			e := upstream.Endpoint{IntentUID: "shop.example:try:v1", URL: "https://shop.example/try", Method: "GET"}
			if tt.accept != "" {
				e.Accept = strings.Split(tt.accept, ", ")
			}
			r, err := u.Route(e)
			if err != nil {
				t.Fatal(err)
			}
			p, _ := r.Prepare(nil)
			answer, outcome, err := u.Call(t.Context(), p, upstream.Identity{}, live)
			text := ""
			if err == nil {
				var tree any
				tree, err = answer.Tree(t.Context())
				got, _ := json.Marshal(tree)
				text = string(got)
			}
			if err != nil {
				text = fmt.Sprintf("%+v", err)
				if refused, ok := errors.AsType[*upstream.RejectedError](err); ok {
					text = refused.Message
				}
			}
			if !strings.Contains(text, tt.want) || err == nil && text != tt.want || outcome != tt.outcome {
				t.Errorf("%s %s, want %s", outcome, text, tt.want)
			}
			want := tt.accept
			if want == "" {
				want = "application/json"
			}
			if sent := <-accepted; sent != want {
				t.Errorf("Accept: %s, want %s", sent, want)
			}
		})
	}
}

// FuzzParts checks that the service reads exactly the parts that were sent, with safe file names, whatever the names and values are.
func FuzzParts(f *testing.F) {
	for _, s := range []string{`"x"`, `"AA=="`, `["AA==",null,1]`, `{"k":"\r\n--b"}`, `"\r\n\r\n"`} {
		f.Add("a", "image/png", true, s)
		f.Add("na\"me\\é\r\nX: y", "image/*, text/plain", false, s)
	}
	u, err := upstream.New(settings(f, "http://10.0.0.9:9000"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name, media string, file bool, in string) {
		e := upstream.Endpoint{
			IntentUID: "shop.example:try:v1", URL: "https://shop.example/try", ContentType: "multipart/form-data", Parameters: []string{name},
			Parts: map[string]upstream.Part{name: {Base64: file, MediaType: media}},
		}
		r, err := u.Route(e)
		if err != nil {
			return
		}
		value, err := strictjson.Decode([]byte(in))
		if err != nil {
			return
		}
		sent := 1
		if list, ok := value.([]any); ok {
			sent = 0
			for _, v := range list {
				if v != nil {
					sent++
				}
			}
		} else if value == nil {
			sent = 0
		}
		p, violations := r.Prepare(map[string]any{name: value})
		if (p == nil) == (violations == nil) {
			t.Fatalf("got %v, %v", p, violations)
		}
		if p == nil {
			return
		}
		_, parameters, err := mime.ParseMediaType(p.ContentType())
		if err != nil {
			t.Fatal(err)
		}
		for reader := multipart.NewReader(strings.NewReader(p.Body()), parameters["boundary"]); ; sent-- {
			part, err := reader.NextRawPart()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(part.Header) > 2 || strings.Trim(part.FileName(), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") != "" ||
				(part.FileName() != "") != file {
				t.Fatalf("got %v", part.Header)
			}
		}
		if sent != 0 {
			t.Fatalf("%d parts are missing", sent)
		}
	})
}
