package mrp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

func send(members string) string { return `{"recipient_key":"` + keyB + `"` + members + `}` }

func TestReadSend(t *testing.T) {
	for name, members := range map[string]string{
		"a text": `,"body":"hi"`, "null": `,"body":null`, "a number": `,"body":1e400`, "an object": `,"body":{"a":[1,{"b":null}]}`,
		"a body of 1 MiB":             `,"body":"` + strings.Repeat("x", wire.MaxBody-2) + `"`,
		"many values":                 `,"body":[` + strings.Repeat("0,", 200_000) + `0]`,
		"only attachments":            `,"attachments":[{"blob_id":"blob_1"},"blob_2"]`,
		"ten attachments":             `,"attachments":[` + strings.Repeat(`"b",`, 9) + `"b"]`,
		"unknown members":             `,"body":1,"priority":"high","x":{"y":[]}`,
		"the shortest time":           `,"body":1,"expires_in":1`,
		"the longest time":            `,"body":1,"expires_in":2592000`,
		"no values":                   `,"body":1,"expires_in":null,"thread_id":null,"in_reply_to":null,"metadata":null,"attachments":null,"content_type":null`,
		"everything":                  `,"body":1,"thread_id":"t","in_reply_to":"m","metadata":{"a":"b"},"content_type":"text/x","idempotency_key":"k"`,
		"a thread of 128 wide runes":  `,"body":1,"thread_id":"` + strings.Repeat("語", 128) + `"`,
		"a body that looks like more": `,"body":{"recipient_key":"x","attachments":5}`,
	} {
		if _, refused := wire.ReadSend([]byte(send(members))); refused != nil {
			t.Errorf("%s: %v, want nil", name, refused)
		}
	}
}

func TestReadSendErrors(t *testing.T) {
	for name, c := range map[string]struct{ document, code, says string }{
		"nothing":                   {"", "bad_request", "JSON object"},
		"a list":                    {"[]", "bad_request", "JSON object"},
		"half":                      {`{"recipient_key":`, "bad_request", "JSON object"},
		"trailing data":             {send(`,"body":1`) + "{}", "bad_request", "JSON object"},
		"a name twice":              {send(`,"body":1,"body":2`), "bad_request", "JSON object"},
		"a name twice in the body":  {send(`,"body":{"a":1,"a":2}`), "bad_request", "JSON object"},
		"too deep":                  {send(`,"body":` + strings.Repeat("[", 100) + strings.Repeat("]", 100)), "bad_request", "deeper"},
		"not UTF-8":                 {send(",\"body\":\"\xff\""), "bad_request", "JSON object"},
		"no recipient":              {`{"body":1}`, "bad_request", "recipient_key is missing"},
		"a recipient without case":  {`{"Recipient_Key":"` + keyB + `","body":1}`, "bad_request", "recipient_key is missing"},
		"an alias":                  {`{"recipient_key":"` + alias + `","body":1}`, "bad_request", "recipient_key is not a key"},
		"a number as recipient":     {`{"recipient_key":1,"body":1}`, "bad_request", "recipient_key must be a string"},
		"neither":                   {send(""), "unprocessable_entity", "body and attachment are missing"},
		"no attachment":             {send(`,"attachments":[]`), "unprocessable_entity", "body and attachment are missing"},
		"one byte more than 1 MiB":  {send(`,"body":"` + strings.Repeat("x", wire.MaxBody-1) + `"`), "payload_too_large", "1048576"},
		"eleven attachments":        {send(`,"attachments":[` + strings.Repeat(`"b",`, 10) + `"b"]`), "unprocessable_entity", "at most 10"},
		"an attachment of nothing":  {send(`,"attachments":[{}]`), "bad_request", "attachments/0/blob_id is missing"},
		"a number as attachment":    {send(`,"attachments":["b",7]`), "bad_request", "attachments"},
		"no time":                   {send(`,"body":1,"expires_in":0`), "bad_request", "expires_in"},
		"31 days":                   {send(`,"body":1,"expires_in":2592001`), "bad_request", "expires_in"},
		"part of a second":          {send(`,"body":1,"expires_in":1.5`), "bad_request", "expires_in"},
		"more than a number can be": {send(`,"body":1,"expires_in":1e999`), "bad_request", "expires_in"},
		"a text as time":            {send(`,"body":1,"expires_in":"60"`), "bad_request", "expires_in"},
		"a long thread":             {send(`,"body":1,"thread_id":"` + strings.Repeat("x", 129) + `"`), "bad_request", "thread_id"},
		"metadata that is a list":   {send(`,"body":1,"metadata":[]`), "bad_request", "metadata"},
		"large metadata":            {send(`,"body":1,"metadata":{"a":"` + strings.Repeat("x", 16<<10) + `"}`), "unprocessable_entity", "metadata"},
		"a content type of lines":   {send(`,"body":1,"content_type":"a\nb"`), "bad_request", "content_type"},
		"something large":           {send(`,"body":1,"x":"` + strings.Repeat("x", 600<<10) + `"`), "payload_too_large", "524288"},
	} {
		_, refused := wire.ReadSend([]byte(c.document))
		if refused == nil || string(refused.Code) != c.code || !strings.Contains(refused.Message, c.says) {
			t.Errorf("%s: %v, want %s with %q", name, refused, c.code, c.says)
		}
	}
}

// The body and the metadata of a message stay unchanged, byte for byte.
func TestBodyIsUnchanged(t *testing.T) {
	for _, body := range []string{` {"b" : 1.0,  "a":"<é\u00e9>"}`, `[ 1e5 , 0.10 ]`, `"a\/b"`, `null`} {
		s, refused := wire.ReadSend([]byte(`{"body":` + body + ` ,"recipient_key":"` + keyB + `", "metadata": { "z": 1 , "a":2}}`))
		if refused != nil {
			t.Fatalf("got %v, want nil", refused)
		}
		m := wire.Message{ID: "m", Body: s.Body, Metadata: s.Metadata, Status: wire.Sent, ContentType: s.ContentType, Recipient: s.Recipient}
		p := wire.Messages{Messages: []wire.Message{m, m}}
		text, err := p.AppendJSON(nil)
		if err != nil || strings.Count(string(text), `"body":`+strings.TrimSpace(body)) != 2 || !strings.Contains(string(text), `"metadata":{ "z": 1 , "a":2}`) {
			t.Errorf("%s: %s %v", body, text, err)
		}
		var read wire.Messages
		if err := json.Unmarshal(text, &read); err != nil || len(read.Messages) != 2 || string(read.Messages[1].Body) != strings.TrimSpace(body) {
			t.Errorf("%s: %+v %v", body, read, err)
		}
	}
}

func TestReadChange(t *testing.T) {
	c, refused := wire.ReadChange([]byte(`{"display_name":null,"visibility":"public","inbox_policy":"allowlist","metadata":{"a":"b"},
		"capabilities":["text:translate",{"name":"n","description":"d","tags":["a","b"],"input_schema":{"type":"object"},"version":"1"}]}`))
	if refused != nil || c.DisplayName == nil || *c.DisplayName != "" || c.Visibility != wire.Public || c.InboxPolicy != wire.AllowList ||
		string(c.Metadata) != `{"a":"b"}` || len(c.Capabilities) != 2 || c.Capabilities[0].Name != "text:translate" ||
		c.Capabilities[0].Tags[0] != "text:translate" || string(c.Capabilities[1].InputSchema) != `{"type":"object"}` {
		t.Errorf("got %+v %v", c, refused)
	}
	c, refused = wire.ReadChange([]byte(`{"x":1}`))
	if refused != nil || c.DisplayName != nil || c.Visibility != "" || c.Capabilities != nil || c.Metadata != nil {
		t.Errorf("omitted members: %+v %v; want nil, DisplayName nil, Visibility empty, Capabilities nil and Metadata nil", c, refused)
	}
	if c, refused = wire.ReadChange([]byte(`{"capabilities":[]}`)); refused != nil || c.Capabilities == nil {
		t.Errorf("none: %+v %v", c, refused)
	}
	for name, document := range map[string]string{
		"a long name":            fmt.Sprintf(`{"display_name":%q}`, strings.Repeat("x", 257)),
		"a name of lines":        `{"display_name":"a\nb"}`,
		"a bidi character":       `{"display_name":"a\u202eb"}`,
		"a name with a bell":     `{"display_name":"a\u0007b"}`,
		"another visibility":     `{"visibility":"secret"}`,
		"another policy":         `{"inbox_policy":"ALLOWLIST"}`,
		"21 capabilities":        `{"capabilities":[` + strings.Repeat(`"a",`, 20) + `"a"]}`,
		"21 tags":                `{"capabilities":[{"name":"n","tags":[` + strings.Repeat(`"a",`, 20) + `"a"]}]}`,
		"a tag with a space":     `{"capabilities":[{"name":"n","tags":["a b"]}]}`,
		"a long tag":             `{"capabilities":[{"name":"n","tags":["` + strings.Repeat("x", 65) + `"]}]}`,
		"a capability of spaces": `{"capabilities":["a b"]}`,
		"no name":                `{"capabilities":[{"tags":["a"]}]}`,
		"a number":               `{"capabilities":[1]}`,
		"a schema that is text":  `{"capabilities":[{"name":"n","input_schema":"x"}]}`,
		"metadata that is text":  `{"metadata":"x"}`,
		"a large schema":         `{"capabilities":[{"name":"n","input_schema":{"a":"` + strings.Repeat("x", 16<<10) + `"}}]}`,
	} {
		if _, refused := wire.ReadChange([]byte(document)); refused == nil || refused.Code != "unprocessable_entity" {
			t.Errorf("%s: %v", name, refused)
		}
	}
}

func TestFrames(t *testing.T) {
	for name, document := range map[string]string{
		"inside": `{"type":"send","id":"1","message":` + send(`,"body":[1]`) + `}`,
		"beside": `{"type":"send","id":"1","recipient_key":"` + keyB + `","body":[1]}`,
	} {
		f, refused := wire.ReadFrame([]byte(document))
		if refused != nil || f.ID != "1" || string(f.Send.Body) != "[1]" || f.Send.Recipient.String() != keyB {
			t.Errorf("%s: %+v %v", name, f, refused)
		}
	}
	if f, refused := wire.ReadFrame([]byte(`{"type":"ack","message_id":"m"}`)); refused != nil || f.MessageID != "m" {
		t.Errorf("got %+v %v; want nil and MessageID %q", f, refused, "m")
	}
	if f, refused := wire.ReadFrame([]byte(`{"type":"whatever","x":1}`)); refused != nil || f.Type != "whatever" {
		t.Errorf("got %+v %v; want nil and Type %q", f, refused, "whatever")
	}
	f, refused := wire.ReadFrame([]byte(`{"type":"send","id":"7","message":{"body":1}}`))
	if refused == nil || f.ID != "7" || !strings.Contains(refused.Message, "message/recipient_key") {
		t.Errorf("got %+v %v", f, refused)
	}
	for _, document := range []string{`{"type":"ack"}`, `{}`, `null`, `{"type":1}`, `{"type":"send","message":7}`} {
		if _, refused := wire.ReadFrame([]byte(document)); refused == nil {
			t.Errorf("%s is accepted", document)
		}
	}
}

func TestEntriesAndWebhooks(t *testing.T) {
	b, err := wire.ParseKey(keyB)
	if err != nil {
		t.Fatal(err)
	}
	if k, kind, refused := wire.ReadEntry([]byte(`{"peer_key":"`+keyB+`","entry_type":"block"}`), nil); refused != nil || k != b || kind != wire.Block {
		t.Errorf("got %v %v %v; want %v, %v, nil", k, kind, refused, b, wire.Block)
	}
	if k, kind, refused := wire.ReadEntry([]byte(`{"entry_type":"allow"}`), &b); refused != nil || k != b || kind != wire.Allow {
		t.Errorf("got %v %v %v; want %v, %v, nil", k, kind, refused, b, wire.Allow)
	}
	for _, document := range []string{`{}`, `{"entry_type":"allow","peer_key":"` + keyA + `"}`, `{"entry_type":"maybe"}`} {
		if _, _, refused := wire.ReadEntry([]byte(document), &b); refused == nil {
			t.Errorf("%s is accepted", document)
		}
	}
	secret := `,"secret":"QEFCQ0RFRkdISUpLTE1OT1BRUlNUVVZXWFlaW1xdXl8"}`
	for _, document := range []string{
		`{"url":"https://a.example"}`, `{"url":"ftp://a.example"` + secret, `{"url":"https://u:p@a.example"` + secret, `{"url":"https:///x"` + secret,
		`{"url":"https://a.example","secret":"QEFC"}`, `{"url":"https://a.example","secret":"QEFCQ0RFRkdISUpLTE1OT1BRUlNUVVZXWFlaW1xdXl9"}`,
	} {
		if _, _, refused := wire.ReadWebhook([]byte(document)); refused == nil || refused.Code != "bad_request" {
			t.Errorf("%s: %v", document, refused)
		}
	}
}
