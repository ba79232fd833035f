package jsonrpc_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/wire/jsonrpc"
)

func TestRead(t *testing.T) {
	for _, row := range []struct {
		name, body, id, method string
		code                   int // 0: it is a message
		notification, answer   bool
	}{
		{name: "request", body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, id: "1", method: "ping"},
		{name: "text id", body: `{"jsonrpc":"2.0","id":"a\"b","method":"ping","params":{}}`, id: `"a\"b"`, method: "ping"},
		{name: "negative id", body: `{"jsonrpc":"2.0","id":-7,"method":"ping"}`, id: "-7", method: "ping"},
		{name: "large id", body: `{"jsonrpc":"2.0","id":12345678901234567890,"method":"ping"}`, id: "12345678901234567890", method: "ping"},
		{name: "notification", body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`, method: "notifications/initialized", notification: true},
		{name: "answer", body: `{"jsonrpc":"2.0","id":1,"result":{}}`, id: "1", answer: true},
		{name: "no params", body: `{"jsonrpc":"2.0","id":1,"method":"ping","params":null}`, id: "1", method: "ping"},
		{name: "unknown members", body: `{"jsonrpc":"2.0","id":1,"method":"ping","more":1}`, id: "1", method: "ping"},
		{name: "null id", body: `{"jsonrpc":"2.0","id":null,"method":"ping"}`, code: jsonrpc.InvalidRequest},
		{name: "fraction", body: `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, code: jsonrpc.InvalidRequest},
		{name: "exponent", body: `{"jsonrpc":"2.0","id":1e3,"method":"ping"}`, code: jsonrpc.InvalidRequest},
		{name: "object id", body: `{"jsonrpc":"2.0","id":{},"method":"ping"}`, code: jsonrpc.InvalidRequest},
		{name: "long id", body: `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 255) + `","method":"ping"}`, code: jsonrpc.InvalidRequest},
		{name: "version", body: `{"jsonrpc":"1.0","id":1,"method":"ping"}`, id: "1", code: jsonrpc.InvalidRequest},
		{name: "no version", body: `{"id":1,"method":"ping"}`, id: "1", code: jsonrpc.InvalidRequest},
		{name: "no method", body: `{"jsonrpc":"2.0","id":1}`, id: "1", code: jsonrpc.InvalidRequest},
		{name: "answer of both kinds", body: `{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, id: "1", code: jsonrpc.InvalidRequest},
		{name: "empty method", body: `{"jsonrpc":"2.0","id":1,"method":""}`, id: "1", code: jsonrpc.InvalidRequest},
		{name: "params by position", body: `{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}`, id: "1", method: "ping", code: jsonrpc.InvalidParams},
		{name: "batch", body: ` [{"jsonrpc":"2.0","id":1,"method":"ping"}]`, code: jsonrpc.InvalidRequest},
		{name: "twice", body: `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, code: jsonrpc.ParseError},
		{name: "twice inside", body: `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":2}}`, code: jsonrpc.ParseError},
		{name: "text", body: `"ping"`, code: jsonrpc.ParseError},
		{name: "cut off", body: `{"jsonrpc":"2.0","id":1,`, code: jsonrpc.ParseError},
		{name: "nothing", body: ``, code: jsonrpc.ParseError},
		{name: "more", body: `{"jsonrpc":"2.0","id":1,"method":"ping"}{}`, code: jsonrpc.ParseError},
		{name: "deep", body: `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat(`{"a":`, 80) + `1` + strings.Repeat(`}`, 81), code: jsonrpc.ParseError},
	} {
		t.Run(row.name, func(t *testing.T) {
			m, err := jsonrpc.Read([]byte(row.body))
			if code := codeOf(err); code != row.code {
				t.Fatalf("code %d (%v), want %d", code, err, row.code)
			}
			if string(m.ID) != row.id || m.Method != row.method || m.Answer != row.answer {
				t.Errorf("got %+v", m)
			}
			if row.code == 0 && m.IsNotification() != row.notification {
				t.Errorf("notification %v", m.IsNotification())
			}
		})
	}
}

func codeOf(err *jsonrpc.Error) int {
	if err == nil {
		return 0
	}
	return err.Code
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"q":1.50}}}`, `[]`, `{"jsonrpc":"2.0","id":"é","method":"m"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := jsonrpc.Read(data)
		var out []byte
		if err != nil {
			out = jsonrpc.AppendError(nil, m.ID, err)
		} else {
			out = jsonrpc.AppendResult(nil, m.ID, []byte(`{}`))
		}
		if !json.Valid(out) {
			t.Errorf("%q answers %q", data, out)
		}
		if err == nil && m.Method == "" && !m.Answer {
			t.Errorf("%q is a message without method", data)
		}
	})
}
