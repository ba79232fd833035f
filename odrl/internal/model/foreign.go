package model

import (
	"bytes"
	"slices"
	"strings"
)

// anotherFormat returns the name of the RDF format, other than JSON, that the beginning of a document shows. It is empty if no known
// format fits.
func anotherFormat(doc []byte) string {
	text := bytes.TrimSpace(doc)
	for _, start := range []struct{ text, format string }{
		{"@prefix", "Turtle"},
		{"@base", "Turtle"},
		{"prefix ", "Turtle"},
		{"base <", "Turtle"},
		{"#", "Turtle"},
		{"<?xml", "XML"},
		{"<rdf:", "XML"},
		{"<!--", "XML"},
	} {
		if len(text) >= len(start.text) && strings.EqualFold(string(text[:len(start.text)]), start.text) {
			return start.format
		}
	}
	if bytes.HasPrefix(text, []byte("<http")) {
		return "Turtle"
	}
	return ""
}

// inAnotherFormat returns the advice for a document in another format of RDF than JSON-LD.
func inAnotherFormat(format string) string {
	parser := map[string]string{"Turtle": "turtle", "XML": "xml"}[format]
	return "this is " + format + ", and policies are read as JSON-LD: convert it, " +
		"for example by rdfpipe -i " + parser + " -o json-ld (of rdflib)"
}

// idsCore are the starts of names of the information model of International Data Spaces.
var idsCore = []string{"ids:", "https://w3id.org/idsa/core/", "http://w3id.org/idsa/core/"}

// idsContract returns the type of a document of the IDS information model, which describes contracts in terms of its own. It is empty if
// the document is not such a contract, or declares itself a policy of ODRL as well.
func idsContract(tree any) string {
	for _, node := range topNodes(tree) {
		types := ListOf(Field{Value: node["@type"]})
		if t := ListOf(Field{Value: node["type"]}); len(types) == 0 {
			types = t
		}
		i := slices.IndexFunc(types, func(f Field) bool {
			s, _ := f.Value.(string)
			return slices.ContainsFunc(idsCore, func(start string) bool { return strings.HasPrefix(s, start) }) &&
				strings.HasPrefix(LastName(s), "Contract")
		})
		if i >= 0 && len(types) == 1 {
			return LastName(types[i].Value.(string)) //nolint:forcetypeassert // the condition above
		}
	}
	return ""
}
