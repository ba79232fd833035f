package strictjson_test

import (
	"testing"

	"github.com/uimgate/uimgate/internal/strictjson"
)

func TestAppendASCII(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"a": [1.50, "b\\n"]}`:    `{"a": [1.50, "b\\n"]}`,
		`"~` + "\x7f\u0080" + `é"`: `"~\u007f\u0080\u00e9"`,
		`"\uffff😀"`:                `"\uffff\ud83d\ude00"`,
		"":                         "",
	} {
		if got := string(strictjson.AppendASCII([]byte("x"), []byte(in))); got != "x"+want {
			t.Errorf("%q: got %s, want %s", in, got, "x"+want)
		}
	}
}
