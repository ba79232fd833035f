package strictjson_test

import (
	"fmt"
	"strings"
)

// words returns documents where the end of a string, a name, a number or white space is at each position of the eight-byte words that the
// cursor examines at once.
func words() []string {
	var list []string
	for n := range 20 {
		run := strings.Repeat("a", n)
		for _, end := range []string{
			`\"`, `\n`, `\u00e9`, `\ud83d\ude00`, `\ud83d`, `\`, "é", "\x1f", "\xff", "\xc3", "\x80", "\x00", "!", "[", "]", "#",
		} {
			list = append(list, `"`+run+end+`"`, `"`+run+end+`aaaaaaaaaaaa"`, `["`+run+end+`",1]`, `"`+run+end)
		}
		r := strings.NewReplacer("~", run)
		for _, one := range []string{
			`"~`, `~`, `{"~":1}`, `{"~"`, `[{"~":1},{"~":2},{"~":[]}]`, `[{"~":1},{"~b":2}]`, `[{"~b":1},{"~":2}]`, `[{"~b":1},{"~c":2}]`,
			`[{"~\"":1},{"~\"":2}]`, `[{"~é":1},{"~é":1,"~\u00e9":1}]`, `[{"x~":1,"y~":1},{"x~":1,"x~":1}]`, `[{"x~":1},{"x~":1,"x~":1}]`,
			`[{"x~":1},{"x~`, `[{"x~":1},{"x~"`, `[{"~b~":1},{"~c~":1}]`, `[{"~bb~":1},{"~bc~":1}]`,
		} {
			list = append(list, r.Replace(one))
		}
		blanks := strings.Repeat(" ", n)
		list = append(list, blanks+"1", "[1,"+blanks+"2\n]"+blanks, "\t"+blanks+"\r\n"+blanks+"\v1")
		for _, number := range []string{
			"%s", "-%s", "0%s", "%s.5", "0.%s", "%s.%[1]s", "%se1", "1.%se-7", "1e%s", "%s.", "%s-", "%s..", "1.%s.", "%s\xb0",
			"%s/", "%s:", "%s\x00",
		} {
			text := fmt.Sprintf(number, strings.Repeat("7", n))
			list = append(list, text, "["+text+"]", `{"a":`+text+`,"bcdefgh":1}`, "["+text+" ,1]")
		}
	}
	return list
}

// siblings returns lists of objects. The next object has the names of the previous one, or partly other names.
func siblings() []string {
	var list []string
	for _, many := range []int{1, 5, 11, 12, 13, 16, 17, 18, 33, 70} {
		first := object(many, "")
		for _, at := range []int{0, 1, 4, 11, 12, 13, 16, 17, 32, 69} {
			if at >= many {
				continue
			}
			name := fmt.Sprintf(`"n%d":{"n%[1]d":%[1]d}`, at)
			list = append(list, "["+first+","+first+","+object(many, `,"m":1,`+name)+"]",
				"["+first+","+object(many, "")+","+object(many, `,`+name)+"]")
			for _, other := range []string{
				`"m":1`, `"n0":1`, fmt.Sprintf(`"n%d":1`, many), `"\u006e1":1`, name + "," + name, `"m":1,"m":2`, `"m":1,"o":{"n1":1}`,
			} {
				changed := strings.Replace(first, name, other, 1)
				list = append(list, "["+first+","+changed+"]", "["+first+","+changed+","+first+"]", "["+changed+","+first+","+changed+"]",
					"["+first+","+first+`,{"n0":1},`+first+","+changed+"]", `[`+first+`,{"n0":1,"n1":1,"n3":1},`+first+`,`+first+`]`)
			}
		}
	}
	return list
}
