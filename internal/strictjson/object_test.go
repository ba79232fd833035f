package strictjson_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/internal/strictjson"
)

func TestObject(t *testing.T) {
	o, err := strictjson.DecodeObject([]byte(`{"text":"a","number":1.50,"flag":true,"list":[1],"object":{"x":{"y":"z"}},"null":null}`))
	if err != nil {
		t.Fatal(err)
	}
	got := []any{
		o.Text("text"), o.Text("number"), o.Text("none"), o.Number("number"), o.Number("text"), o.Flag("flag"), o.Flag("text"),
		len(o.List("list")), o.List("text") == nil, o.Object("object").Object("x").Text("y"), o.Object("none").Object("x").Text("y"),
		o.Has("null"), o.Has("none"), o.Object("null") == nil,
	}
	want := []any{"a", "", "", json.Number("1.50"), json.Number(""), true, false, 1, true, "z", "", true, false, true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if names := []string{"flag", "list", "null", "number", "object", "text"}; !slices.Equal(o.Names(), names) {
		t.Errorf("names %v, want %v", o.Names(), names)
	}
}

// An Object is accepted as a tree.
func TestObjectAsTree(t *testing.T) {
	o := strictjson.Object{"b": json.Number("1.0"), "a": map[string]any{"c": []any{"x"}}}
	if kind := strictjson.Kind(o); kind != "object" {
		t.Errorf("kind %s, want object", kind)
	}
	if v, ok := strictjson.Lookup(o, "/a/c/0"); !ok || v != "x" {
		t.Errorf("found %v, %v, want x", v, ok)
	}
	if text, err := strictjson.Canonical(o); err != nil || string(text) != `{"a":{"c":["x"]},"b":1}` {
		t.Errorf("got %s, %v", text, err)
	}
	if err := strictjson.Exact(strictjson.Object{"a": json.Number("0.1234567890123456789")}); err == nil {
		t.Error("an inexact number is exact")
	}
	if _, ok := strictjson.AsObject([]any{}); ok {
		t.Error("a list is an object")
	}
	copied, _ := strictjson.AsObject(strictjson.Clone(o))
	copied.Object("a").List("c")[0] = "changed"
	if v, _ := strictjson.Lookup(o, "/a/c/0"); v != "x" {
		t.Error("a clone shares a list")
	}
}

func ExampleDecodeObject() {
	order, err := strictjson.DecodeObject([]byte(`{"item": "tea", "price": 1.10, "to": {"city": "Ulm"}}`))
	fmt.Println(order.Text("item"), order.Number("price"), order.Object("to").Text("city"), err)
	_, err = strictjson.DecodeObject([]byte(`{"item": "tea", "item": "salt"}`))
	fmt.Println(err)
	// Output:
	// tea 1.10 Ulm <nil>
	// line 1 column 17 at /item: the same member occurs twice in one object
}
