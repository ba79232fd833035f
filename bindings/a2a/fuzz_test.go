package a2a

import (
	"testing"

	"github.com/uimgate/uimgate/internal/strictjson"
)

func FuzzReadMessage(f *testing.F) {
	for _, seed := range []string{
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"intent_uid":"a:b:v1","parameters":{"q":1.50}}}]}}`,
		`{"message":{"messageId":"m","role":"ROLE_USER","contextId":"é","parts":[{"text":"{\"intent\":{}}"}],"metadata":{"` + Extension +
			`":{"proof":"p"}}},"configuration":{"returnImmediately":true,"acceptedOutputModes":["text/plain"]}}`,
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"raw":""},{"url":null},7]}}`, `{"pageToken":"MS54","pageSize":1e2,"status":"x"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		params, err := strictjson.DecodeObject(data)
		if err != nil {
			return
		}
		m, fail := readMessage(params)
		if (m == nil) && (fail == nil) {
			t.Error("neither a message nor an error")
		}
		if fail == nil && (m.id == "" || len(m.id) > maxMessageID || !visible(m.id) || len(m.contextID) > maxContextID || !visible(m.contextID)) {
			t.Errorf("got %+v", m)
		}
		q, size, _, fail := readListing(params)
		if fail == nil && (size < 1 || size > mostTasks) {
			t.Errorf("a page of %d", size)
		}
		if fail == nil && q.After.ID != "" {
			if again, ok := readPageToken(pageToken(q.After)); !ok || again != q.After {
				t.Errorf("%+v parses as %+v", q.After, again)
			}
		}
		plain(params)
	})
}
