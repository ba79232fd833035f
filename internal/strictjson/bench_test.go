package strictjson_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// products returns the response of a shop, with about 120 bytes per product.
func products(n int) []byte {
	four := []string{
		`{"id":"p-1001","name":"Fourteen inch office laptop","price":1149.00,"currency":"EUR","category":"electronics","stock":17}`,
		`{"id":"p-1002","name":"Sixteen inch workstation laptop","price":1899.50,"currency":"EUR","category":"electronics","stock":4}`,
		`{"id":"p-1003","name":"Thirteen inch travel laptop","price":1029.99,"currency":"EUR","category":"electronics","stock":31}`,
		`{"id":"p-1004","name":"Refurbished study laptop","price":1001.00,"currency":"EUR","category":"electronics","stock":2}`,
	}
	list := make([]string, n)
	for i := range list {
		list[i] = four[i%len(four)]
	}
	return fmt.Appendf(nil, `{"products":[%s],"total_results":%d}`, strings.Join(list, ","), n)
}

func BenchmarkSkip(b *testing.B) {
	var indented bytes.Buffer
	if err := json.Indent(&indented, products(170), "", "  "); err != nil {
		b.Fatal(err)
	}
	var wide, prose []string
	for i := range 10_000 {
		wide = append(wide, fmt.Sprintf(`"member %d":%d`, i, i))
		prose = append(prose, `"Eine längere Beschreibung, in der \"Wörter\" stehen, deren Buchstaben nicht alle ASCII sind."`)
	}
	for name, data := range map[string][]byte{
		"519B": products(4), "20kB": products(170), "1MB": products(8700), "indented": indented.Bytes(),
		"wide": []byte("{" + strings.Join(wide, ",") + "}"), "prose": []byte("[" + strings.Join(prose, ",") + "]"),
		"numbers": []byte("[" + strings.Repeat("0,1.5,-12.25,123456789,1e5,", 1000) + "0]"),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if !strictjson.Valid(data) {
					b.Fatal("not valid")
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	data := products(170)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := strictjson.Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}
