package sqlstore_test

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

const (
	question = `{"request":{"party":"agent-15","action":"execute","target":"shop.example:buy:v1","context":` +
		`{"publicKey":"MCowBQYDK2VwAyEAnC9J0u8714vXyjJAcCDv+ugq2LlLtMxl5m+1U1RIkU8="}},"world":{"currentTime":"2026-11-30T02:27:36.735135575Z",` +
		`"partOf":[{"member":"shop.example:buy:v1","collection":"https://shop.example/api/intents"}]},"dutyMode":"notViolated"}`
	request   = "HHzSkPmmJx1YFPU5X-pUSqIRiqetDPpEGjPhDpJH2EA"
	thumb     = "GVhZfSUfcbwTbc-WqnEkAO1m-Kn-znG1mLeM0k2G810"
	token     = "LC32HX3B3DLB6WJBTLNDJKSH75"
	agreement = "01a22a47-75c0-73b8-8055-124887d58849"
)

func jws(header, payload string) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(header)) + "." + encode([]byte(payload)) + "." + encode(bytes.Repeat([]byte{0xff}, 64))
}

var proof = jws(`{"alg":"EdDSA","kid":"`+thumb+`","typ":"uim-proof+jwt"}`,
	`{"aud":"shop.example","digest":"`+request+`","iat":1796005656,"jti":"LTHC7YPMOBV2YOJ7S33UZVUX","pat":"`+token+`"}`)

func words() ledger.Words {
	return ledger.NewWords("agent-15", "shop.example:buy:v1", request, agreement, token, thumb)
}

// Every text is restored byte for byte. Texts of an ordinary call take at most the given number of bytes.
func TestTextsAreRestored(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		proof bool
		most  int
	}{
		"question":                      {text: question, most: 105},
		"proof":                         {text: proof, proof: true, most: 140},
		"no question":                   {text: "", most: 1},
		"no proof":                      {text: "", proof: true, most: 0},
		"a question with a code":        {text: "a\x01b", most: 4},
		"a question that begins so":     {text: "\x02", most: 2},
		"white space":                   {text: "{\r\n\t\"a\": 1}", most: 12},
		"other bytes":                   {text: "\xff\x80\xc0", most: 4},
		"a proof of another form":       {text: "proof 1", proof: true, most: 8},
		"a proof with a code":           {text: jws("{\x01}", "{}"), proof: true, most: 100},
		"a proof with a code at last":   {text: jws("{}", "\x1f"), proof: true, most: 100},
		"a proof with unused bits":      {text: "YR.YQ.YQ", proof: true, most: 9},
		"a proof with padding":          {text: "YQ==.YQ.YQ", proof: true, most: 11},
		"a proof with a line end":       {text: "YQ\n.YQ.YQ", proof: true, most: 10},
		"a proof of empty parts":        {text: "..", proof: true, most: 3},
		"a proof with four parts":       {text: "YQ.YQ.YQ.YQ", proof: true, most: 12},
		"a proof without known members": {text: jws(`{"a":"b"}`, strings.Repeat("x", 300)), proof: true, most: 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := words()
			var stored []byte
			if c.proof {
				stored = w.PackProof(c.text)
			} else {
				stored = w.PackQuestion([]byte(c.text))
			}
			if got, ok := w.Unpack(stored); !ok || string(got) != c.text {
				t.Errorf("got %q, %v; want %q", got, ok, c.text)
			}
			if len(stored) > c.most {
				t.Errorf("the text takes %d bytes, want at most %d", len(stored), c.most)
			}
		})
	}
}

// Other words give another text, so that a change of an execution changes the digests of its texts.
func TestTextsDependOnTheirExecution(t *testing.T) {
	t.Parallel()
	w := words()
	asked, signed := w.PackQuestion([]byte(question)), w.PackProof(proof)
	for name, other := range map[string]ledger.Words{
		"agent":   ledger.NewWords("agent-16", "shop.example:buy:v1", request, agreement, token, thumb),
		"intent":  ledger.NewWords("agent-15", "shop.example:buy:v2", request, agreement, token, thumb),
		"request": ledger.NewWords("agent-15", "shop.example:buy:v1", thumb, agreement, token, thumb),
		"token":   ledger.NewWords("agent-15", "shop.example:buy:v1", request, agreement, "x", thumb),
		"key":     ledger.NewWords("agent-15", "shop.example:buy:v1", request, agreement, token, request),
	} {
		got, err := other.Texts("", asked, signed)
		if err != nil || string(got.Asked) == question && got.Proof == proof {
			t.Errorf("%s: the texts are the same, or %v", name, err)
		}
	}
}

func TestDamagedTextsAreRejected(t *testing.T) {
	t.Parallel()
	w := words()
	for name, stored := range map[string]string{
		"an unknown code":            "\x01a\x1f",
		"a word without value":       "\x01\x07",
		"no lengths":                 "\x02",
		"a length too large":         "\x02\x7f{}",
		"one part":                   "\x02\x02{}",
		"an endless length":          "\x02" + strings.Repeat("\xff", 12),
		"an unknown code in a proof": "\x02\x01\x1f\x00",
	} {
		if got, ok := w.Unpack([]byte(stored)); ok {
			t.Errorf("%s: got %q", name, got)
		}
	}
	long := ledger.NewWords(strings.Repeat("x", 1<<20), "i", "", "", "", "")
	if _, ok := long.Unpack(append([]byte{1}, bytes.Repeat([]byte{6}, 17)...)); ok {
		t.Error("a text of 17 MiB was unpacked")
	}
}

func FuzzTexts(f *testing.F) {
	f.Add(question, "agent-15", "shop.example:buy:v1", request)
	f.Add(proof, "agent-15", "shop.example:buy:v1", request)
	f.Add("\x02\x01{\x01}", "", ":", "{}")
	f.Fuzz(func(t *testing.T, text, agent, intent, request string) {
		w := ledger.NewWords(agent, intent, request, agreement, token, thumb)
		for _, stored := range [][]byte{w.PackQuestion([]byte(text)), w.PackProof(text)} {
			if got, ok := w.Unpack(stored); !ok || string(got) != text {
				t.Errorf("got %q, %v; want %q", got, ok, text)
			}
		}
		_, _ = w.Unpack([]byte(text))
	})
}
