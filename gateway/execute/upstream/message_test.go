package upstream_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/gateway/execute/upstream"
)

// Messages in the error formats of frameworks and well-known APIs.
func TestServiceMessages(t *testing.T) {
	for name, tt := range map[string]struct{ body, pointer, want string }{
		"FastAPI": {
			`{"detail":[{"loc":["body","items",0,"email"],"msg":"value is not a valid email address","type":"value_error.email"}]}`, "",
			"body.items.0.email: value is not a valid email address",
		},
		"FastAPI, of one word": {`{"detail":"Item not found"}`, "", "Item not found"},
		"JSON:API": {
			`{"errors":[{"status":"422","source":{"pointer":"/data/attributes/firstName"},"title":"Invalid Attribute",` +
				`"detail":"First name must contain at least two characters."}]}`, "",
			"/data/attributes/firstName: First name must contain at least two characters.",
		},
		"JSON:API, a parameter": {`{"errors":[{"source":{"parameter":"include"},"title":"Invalid Query"}]}`, "", "include: Invalid Query"},
		"GraphQL": {
			`{"errors":[{"message":"Cannot query field \"nme\"","locations":[{"line":2,"column":3}],"path":["hero","nme"]}],"data":null}`, "",
			`hero.nme: Cannot query field "nme"`,
		},
		"Rails":                         {`{"errors":{"email":["has already been taken","is odd"],"name":["is short"]}}`, "", "email: has already been taken"},
		"Rails, error object":           {`{"errors":{"base":["Cart is empty"]}}`, "", "Cart is empty"},
		"Rails, full messages":          {`{"errors":["Email is invalid","Name is short"]}`, "", "Email is invalid"},
		"Rails, one message":            {`{"errors":"Email is invalid"}`, "", "Email is invalid"},
		"Laravel":                       {`{"message":"The given data was invalid.","errors":{"email":["Taken."]}}`, "", "The given data was invalid."},
		"Plaid":                         {`{"display_message":null,"error_code":"INVALID_FIELD","error_message":"count must be positive","error_type":"X"}`, "", "count must be positive"},
		"OAuth":                         {`{"error_description":"The code has expired"}`, "", "The code has expired"},
		"problem document":              {`{"type":"about:blank","title":"Bad Request","detail":"page is out of range","status":400}`, "", "page is out of range"},
		"Google":                        {`{"error":{"code":400,"message":"Invalid value","errors":[{"message":"inner"}],"status":"INVALID_ARGUMENT"}}`, "", "Invalid value"},
		"Asana":                         {`{"errors":[{"message":"project: Missing input","help":"For more information"}]}`, "", "project: Missing input"},
		"Slack":                         {`{"ok":false,"error":"channel_not_found"}`, "", "channel_not_found"},
		"DigitalOcean":                  {`{"id":"unprocessable_entity","message":"Region is not available"}`, "", "Region is not available"},
		"Salesforce":                    {`[{"message":"Required fields are missing","errorCode":"REQUIRED_FIELD_MISSING"}]`, "", "Required fields are missing"},
		"errors inside an error":        {`{"error":{"errors":[{"field":"zip","message":"is unknown"}]}}`, "", "zip: is unknown"},
		"details":                       {`{"code":3,"details":[{"field":"zip","detail":"is unknown"}]}`, "", "zip: is unknown"},
		"an empty message":              {`{"message":"","errors":[{"message":"zip is unknown"}]}`, "", "zip is unknown"},
		"at the configured pointer":     {`{"message":"no","fault":{"text":["the cart is empty"]}}`, "/fault/text", "the cart is empty"},
		"not at the configured pointer": {`{"message":"no"}`, "/fault/text", "no"},
		"nothing":                       {`{"code":17,"errors":[]}`, "", ""},
		"numbers":                       {`{"message":17,"errors":[17]}`, "", ""},
		"not JSON":                      {`Bad Request`, "", ""},
		"markup":                        {`{"message":"<p class='x'>No <b>lamp</b> here.</p><script>alert(1)</script> 1 < 2 <!-- x -->"}`, "", "No lamp here. alert(1) 1 < 2"},
		"markup in markup":              {`{"message":"a <scr<b>ipt>b</scr</b>ipt>"}`, "", "a b"},
		"deeply nested markup":          {`{"message":"` + strings.Repeat("<a", 20) + strings.Repeat(">", 20) + `"}`, "", strings.TrimSpace(strings.Repeat("a", 16))},
		"control characters":            {`{"errors":[{"message":"a\u0007b\r\nc\u202ed\u200b\udb40\udc41e"}]}`, "", "ab cde"},
		"U+0000":                        {`{"code":"\u0000","errors":[{"message":"sold\u0000 out \\u0000"}]}`, "", `sold out \u0000`},
		"NUL":                           {"{\"message\":\"sold\x00 out\"}", "", "sold out"},
		"long message":                  {`{"errors":[{"message":"` + strings.Repeat("é", 400) + `"}]}`, "", strings.Repeat("é", 300)},
		"a credential":                  {`{"errors":[{"message":"key s3cret is bad"}]}`, "", ""},
		"credential at the end of a long message": {`{"message":"` + strings.Repeat("x", 8190) + `s3cret"}`, "", ""},
		"a credential, hidden":                    {`{"message":"key s3<b></b>\u200bcr\u200bet is bad"}`, "", "key s3 cret is bad"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(_ int64, c net.Conn, _ *http.Request) bool {
				_, _ = fmt.Fprintf(c, "HTTP/1.1 422 X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(tt.body), tt.body)
				return true
			})
			cfg := settings(t, s.URL)
			cfg.AuthHeaders, cfg.ErrorMessage = headers("X-Key", "s3cret"), tt.pointer
			u := open(t, cfg)
			_, _, err := u.Call(t.Context(), prepare(t, u, "GET"), upstream.Identity{}, live)
			rejected, ok := errors.AsType[*upstream.RejectedError](err)
			if !ok || rejected.Message != tt.want {
				t.Errorf("got %v %q, want %q", err, rejected.Message, tt.want)
			}
		})
	}
}
